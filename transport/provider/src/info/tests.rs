use super::*;

const VERSION_2_5: u32 = fi_version(2, 5);

fn ask(hints: Hints) -> Outcome<Answer> {
    answer(&Request { version: VERSION_2_5, hints: Some(hints), ..Request::default() })
}

fn refused(hints: Hints) -> bool {
    ask(hints).is_err_and(|errno| errno == Errno(FI_ENODATA))
}

fn without_hints() -> Answer {
    answer(&Request { version: VERSION_2_5, ..Request::default() }).unwrap()
}

/// The offer as hints, as an application passes it back.
fn as_hints(offer: Answer) -> Hints {
    Hints {
        caps: offer.caps,
        source: Some(offer.source),
        dest: offer.dest,
        tx: Some(offer.tx),
        rx: Some(offer.rx),
        ep: Some(offer.ep),
        domain: Some(offer.domain),
        domain_name: Some(NAME.to_string()),
        fabric_name: Some(NAME.to_string()),
        provider_name: Some(NAME.to_string()),
        ..Hints::default()
    }
}

#[test]
fn without_hints_everything_is_offered() {
    let offer = without_hints();
    assert_eq!(offer.caps, CAPS);
    assert_eq!(offer.ep.type_, FI_EP_RDM);
    assert_eq!(offer.domain.mr_mode, 0);
    assert_eq!(offer.tx.inject_size, USUAL_INJECT_SIZE);
}

#[test]
fn the_offer_passed_back_is_met_exactly() {
    let offer = without_hints();
    let again = ask(as_hints(offer.clone())).unwrap();
    assert_eq!(format!("{offer:?}"), format!("{again:?}"));
}

#[test]
fn hints_are_echoed() {
    let mut hints = as_hints(without_hints());
    let domain = hints.domain.as_mut().unwrap();
    (domain.threading, domain.av_type, domain.control_progress) = (FI_THREAD_DOMAIN, FI_AV_MAP, FI_PROGRESS_AUTO);
    hints.tx.as_mut().unwrap().op_flags = FI_COMPLETION | FI_DELIVERY_COMPLETE;
    hints.rx.as_mut().unwrap().op_flags = FI_COMPLETION;
    hints.tx.as_mut().unwrap().size = 5000;
    let offer = ask(hints).unwrap();
    assert_eq!(offer.domain.threading, FI_THREAD_DOMAIN);
    assert_eq!(offer.domain.av_type, FI_AV_MAP);
    assert_eq!(offer.domain.control_progress, FI_PROGRESS_AUTO);
    assert_eq!(offer.tx.op_flags, FI_COMPLETION | FI_DELIVERY_COMPLETE);
    assert_eq!(offer.rx.op_flags, FI_COMPLETION);
    assert_eq!(offer.tx.size, 5000);
}

#[test]
fn wanted_capabilities_are_completed() {
    let offer = ask(Hints { caps: FI_TAGGED, ..Hints::default() }).unwrap();
    assert_eq!(offer.caps, FI_TAGGED | FI_SEND | FI_RECV | SECONDARY_CAPS);
    assert_eq!(offer.tx.caps, FI_TAGGED | FI_SEND);
    let sender = ask(Hints { caps: FI_MSG | FI_SEND, ..Hints::default() }).unwrap();
    assert_eq!(sender.caps & (FI_SEND | FI_RECV | FI_DIRECTED_RECV), FI_SEND);
    let memory = ask(Hints { caps: FI_RMA, ..Hints::default() }).unwrap();
    assert_eq!(memory.caps, FI_RMA | ACCESSES | SECONDARY_CAPS);
    assert_eq!(
        (memory.tx.caps, memory.rx.caps & ACCESSES),
        (FI_RMA | FI_READ | FI_WRITE, FI_REMOTE_READ | FI_REMOTE_WRITE)
    );
    let target = ask(Hints { caps: FI_RMA | FI_REMOTE_WRITE, ..Hints::default() }).unwrap();
    assert_eq!((target.caps & ACCESSES, target.tx.caps), (FI_REMOTE_WRITE, FI_RMA));
}

#[test]
fn unsupported_hints_are_refused() {
    assert!(refused(Hints { caps: FI_MSG | 1 << 47, ..Hints::default() }));
    assert!(refused(Hints { addr_format: 2, ..Hints::default() }));
    let change = |change: fn(&mut Hints)| {
        let mut hints = as_hints(without_hints());
        change(&mut hints);
        refused(hints)
    };
    assert!(change(|h| h.ep.as_mut().unwrap().type_ = FI_EP_MSG));
    assert!(change(|h| h.ep.as_mut().unwrap().tx_ctx_cnt = 2));
    assert!(change(|h| h.ep.as_mut().unwrap().max_msg_size = usize::MAX));
    assert!(change(|h| h.domain.as_mut().unwrap().data_progress = FI_PROGRESS_CONTROL_UNIFIED));
    assert!(change(|h| h.domain.as_mut().unwrap().threading = 77));
    assert!(change(|h| h.tx.as_mut().unwrap().inject_size = INJECT_SIZE as usize + 1));
    assert!(!change(|h| h.tx.as_mut().unwrap().inject_size = INJECT_SIZE as usize));
    assert!(change(|h| h.tx.as_mut().unwrap().msg_order = FI_ORDER_SAS | 1));
    assert!(change(|h| h.rx.as_mut().unwrap().iov_limit = 9));
    assert!(change(|h| h.tx.as_mut().unwrap().rma_iov_limit = 2));
    assert!(change(|h| h.domain_name = Some("eth0".to_string())));
}

#[test]
fn data_moves_by_itself_unless_a_setting_leaves_it_to_calls() {
    let mut hints = as_hints(without_hints());
    hints.domain.as_mut().unwrap().data_progress = FI_PROGRESS_AUTO;
    let automatic = ask(hints).unwrap();
    assert_eq!(automatic.domain.data_progress, FI_PROGRESS_AUTO);
    assert_eq!(automatic.offers_progress(Progress::Automatic), Ok(()));
    assert_eq!(automatic.offers_progress(Progress::Calls), Err(Errno(FI_ENODATA)));
    assert_eq!(without_hints().offers_progress(Progress::Calls), Ok(()));
}

#[test]
fn other_providers_questions_are_refused() {
    let named = |name: &str| Hints { provider_name: Some(name.to_string()), ..Hints::default() };
    assert!(refused(named("tcp")));
    assert!(refused(named("^fishplate")));
    assert!(ask(named("tcp;Fishplate")).is_ok());
    assert!(ask(named("^tcp,shm")).is_ok());
    assert!(answer(&Request { flags: OFI_CORE_PROV_ONLY, ..Request::default() }).is_err());
    assert!(answer(&Request { names_address: true, ..Request::default() }).is_err());
}

#[test]
fn only_blobs_name_peers_and_nobody_chooses_his_own() {
    let peer = Address::new(Token([7; 16]), 1, vec![vec!["10.0.0.1".parse().unwrap()]]);
    let blob = Some(peer.encode());
    assert_eq!(ask(Hints { dest: blob, ..Hints::default() }).unwrap().dest, blob);
    assert_eq!(without_hints().dest, None);
    assert!(refused(Hints { dest: Some([2; ADDRESS_LEN]), ..Hints::default() }));
    let own = Hints { source: blob, ..Hints::default() };
    assert!(refused(own.clone()));
    assert!(answer(&Request { flags: FI_SOURCE, hints: Some(own), ..Request::default() }).is_ok());
}

#[test]
fn old_applications_hear_of_registration_in_their_words() {
    let old = Request { version: fi_version(1, 4), ..Request::default() };
    assert_eq!(answer(&old).unwrap().domain.mr_mode, FI_MR_SCALABLE);
    let mut hints = Hints { domain: Some(offered_domain()), ..Hints::default() };
    hints.domain.as_mut().unwrap().mr_mode = FI_MR_BASIC;
    assert_eq!(answer(&Request { hints: Some(hints), ..old }).unwrap().domain.mr_mode, FI_MR_BASIC);
}
