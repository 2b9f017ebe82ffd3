//! nf_tables rules that make packets wait. They are installed over netlink, as a machine may lack `nft` and `iptables`.

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::sys::socket::SockProtocol;

use crate::netlink::{self, Messages, append_attribute};

/// The table of all rules.
const TABLE: &str = "fishplate-longbow";

// Numbers of the kernel's interface (linux/netfilter/nf_tables.h), which libc lacks.
const NFTA_TABLE_NAME: u16 = 1;
const NFTA_CHAIN_TABLE: u16 = 1;
const NFTA_CHAIN_NAME: u16 = 3;
const NFTA_CHAIN_HOOK: i32 = 4;
const NFTA_CHAIN_TYPE: u16 = 7;
const NFTA_HOOK_HOOKNUM: u16 = 1;
const NFTA_HOOK_PRIORITY: u16 = 2;
const NFTA_RULE_TABLE: u16 = 1;
const NFTA_RULE_CHAIN: u16 = 2;
const NFTA_RULE_EXPRESSIONS: i32 = 4;
const NFTA_LIST_ELEM: u16 = 1;
const NFTA_EXPR_NAME: u16 = 1;
const NFTA_EXPR_DATA: u16 = 2;
const NFTA_META_DREG: u16 = 1;
const NFTA_META_KEY: u16 = 2;
const NFTA_CMP_SREG: u16 = 1;
const NFTA_CMP_OP: u16 = 2;
const NFTA_CMP_DATA: u16 = 3;
const NFTA_DATA_VALUE: u16 = 1;
const NFTA_QUEUE_NUM: u16 = 1;
const NFTA_QUEUE_TOTAL: u16 = 2;
const NFTA_TARGET_NAME: u16 = 1;
const NFTA_TARGET_REV: u16 = 2;
const NFTA_TARGET_INFO: u16 = 3;
const NFT_REG_1: u32 = 1;

/// Flag of an attribute that contains attributes.
const NESTED: u16 = libc::NLA_F_NESTED as u16;

/// Length of an interface name in a comparison by the kernel.
const NAME_BYTES: usize = 16;

/// How a rule passes a packet to a queue.
#[derive(Clone, Copy, Debug)]
enum Handover {
    /// By the `queue` expression of nf_tables.
    Queue,
    /// By the NFQUEUE target of iptables: some kernels lack the expression.
    Target,
}

/// Makes the packets received by an interface of this namespace wait in a queue. `anew`: removes all earlier rules. Returns a
/// description of the packets that will not wait.
///
/// The rules outlive this process and drop packets that no process receives: if the emulator dies, its rails are cut instead
/// of passing packets without delay.
pub fn install(interface: &str, queue: u16, anew: bool) -> Result<Vec<String>> {
    install_family(libc::NFPROTO_IPV4, interface, queue, anew)
        .context("the kernel cannot hand packets to a program (it takes nf_tables with nft_queue or xt_NFQUEUE)")?;
    let mut notes = Vec::new();
    for (family, what) in [(libc::NFPROTO_IPV6, "IPv6"), (libc::NFPROTO_BRIDGE, "forwarded by a bridge")] {
        if let Err(error) = install_family(family, interface, queue, anew) {
            notes.push(format!("{what} is not delayed, since the kernel cannot pass it to a program ({error:#})"));
        }
    }
    Ok(notes)
}

/// Removes the rules of this namespace.
pub fn remove() -> Result<()> {
    for family in [libc::NFPROTO_IPV4, libc::NFPROTO_IPV6, libc::NFPROTO_BRIDGE] {
        let mut batch = Messages::default();
        begin(&mut batch);
        let kind = message(libc::NFT_MSG_DELTABLE);
        batch.begin(kind, libc::NLM_F_ACK, &general(family)).attribute(NFTA_TABLE_NAME, &text(TABLE));
        end(&mut batch);
        // Fails for a protocol family that the kernel lacks, which has no table.
        let _ = netlink::query(&netlink::open(SockProtocol::NetlinkNetFilter)?, &mut batch);
    }
    Ok(())
}

fn install_family(family: i32, interface: &str, queue: u16, anew: bool) -> Result<()> {
    let mut refusals = Vec::new();
    for handover in [Handover::Queue, Handover::Target] {
        let mut batch = rules(family, interface, queue, anew, handover);
        match netlink::query(&netlink::open(SockProtocol::NetlinkNetFilter)?, &mut batch) {
            Ok(_) => return Ok(()),
            Err(error) if error.downcast_ref() == Some(&Errno::EPERM) => {
                return Err(error.context("changing packet rules takes root, or a user namespace (CAP_NET_ADMIN)"));
            }
            Err(error) => refusals.push(format!("{handover:?}: {error:#}")),
        }
    }
    bail!("{}", refusals.join("; "))
}

fn rules(family: i32, interface: &str, queue: u16, anew: bool, handover: Handover) -> Messages {
    let chain = format!("queue-{queue}");
    let mut batch = Messages::default();
    begin(&mut batch);
    let mut table = |kind: i32, flags: i32| {
        batch.begin(message(kind), flags, &general(family)).attribute(NFTA_TABLE_NAME, &text(TABLE));
    };
    table(libc::NFT_MSG_NEWTABLE, libc::NLM_F_CREATE);
    if anew {
        table(libc::NFT_MSG_DELTABLE, 0);
        table(libc::NFT_MSG_NEWTABLE, libc::NLM_F_CREATE);
    }
    let hook = list(&[
        (NFTA_HOOK_HOOKNUM, &(libc::NF_INET_PRE_ROUTING as u32).to_be_bytes()),
        (NFTA_HOOK_PRIORITY, &libc::NF_IP_PRI_RAW.to_be_bytes()),
    ]);
    batch
        .begin(message(libc::NFT_MSG_NEWCHAIN), libc::NLM_F_CREATE, &general(family))
        .attribute(NFTA_CHAIN_TABLE, &text(TABLE))
        .attribute(NFTA_CHAIN_NAME, &text(&chain))
        .nested(NFTA_CHAIN_HOOK, &hook)
        .attribute(NFTA_CHAIN_TYPE, &text("filter"));
    let flags = libc::NLM_F_CREATE | libc::NLM_F_APPEND | libc::NLM_F_ACK;
    batch
        .begin(message(libc::NFT_MSG_NEWRULE), flags, &general(family))
        .attribute(NFTA_RULE_TABLE, &text(TABLE))
        .attribute(NFTA_RULE_CHAIN, &text(&chain))
        .nested(NFTA_RULE_EXPRESSIONS, &expressions(interface, queue, handover));
    end(&mut batch);
    batch
}

/// The expressions "if received by `interface`, pass to `queue`".
fn expressions(interface: &str, queue: u16, handover: Handover) -> Vec<u8> {
    let key = (libc::NFT_META_IIFNAME as u32).to_be_bytes();
    let load = list(&[(NFTA_META_DREG, &NFT_REG_1.to_be_bytes()), (NFTA_META_KEY, &key)]);
    let mut name = interface.as_bytes().to_vec();
    name.resize(NAME_BYTES, 0);
    let compare = list(&[
        (NFTA_CMP_SREG, &NFT_REG_1.to_be_bytes()),
        (NFTA_CMP_OP, &(libc::NFT_CMP_EQ as u32).to_be_bytes()),
        (NFTA_CMP_DATA | NESTED, &list(&[(NFTA_DATA_VALUE, &name)])),
    ]);
    let hand_over = match handover {
        Handover::Queue => {
            let into = [(NFTA_QUEUE_NUM, &queue.to_be_bytes()[..]), (NFTA_QUEUE_TOTAL, &1u16.to_be_bytes())];
            expression("queue", &list(&into))
        }
        Handover::Target => {
            // `struct xt_NFQ_info`, aligned as the kernel aligns it.
            let mut info = queue.to_ne_bytes().to_vec();
            info.resize(8, 0);
            let (name, revision) = (text("NFQUEUE"), 0u32.to_be_bytes());
            let into = [(NFTA_TARGET_NAME, &name[..]), (NFTA_TARGET_REV, &revision), (NFTA_TARGET_INFO, &info)];
            expression("target", &list(&into))
        }
    };
    [expression("meta", &load), expression("cmp", &compare), hand_over].concat()
}

fn expression(name: &str, data: &[u8]) -> Vec<u8> {
    let inside = list(&[(NFTA_EXPR_NAME, &text(name)), (NFTA_EXPR_DATA | NESTED, data)]);
    list(&[(NFTA_LIST_ELEM | NESTED, &inside)])
}

/// A list of attributes.
fn list(attributes: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    attributes.iter().for_each(|(kind, value)| append_attribute(&mut bytes, *kind, value));
    bytes
}

/// A NUL-terminated string.
fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

/// `struct nfgenmsg`.
fn general(family: i32) -> [u8; 4] {
    [family as u8, 0, 0, 0]
}

fn message(kind: i32) -> u16 {
    (libc::NFNL_SUBSYS_NFTABLES << 8 | kind) as u16
}

fn begin(batch: &mut Messages) {
    batch.begin(libc::NFNL_MSG_BATCH_BEGIN as u16, 0, &batch_subject());
}

fn end(batch: &mut Messages) {
    batch.begin(libc::NFNL_MSG_BATCH_END as u16, 0, &batch_subject());
}

fn batch_subject() -> [u8; 4] {
    [libc::AF_UNSPEC as u8, 0, 0, libc::NFNL_SUBSYS_NFTABLES as u8]
}
