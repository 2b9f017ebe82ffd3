//! An adapter's own interfaces carry nothing to a peer that the adapter reaches past the network stack: both go over one wire.

use fishplate_engine::{RailId, VcId};

use super::End;
use crate::endpoint::Endpoint;

impl Endpoint {
    /// Has the links to a peer over interfaces stand by whose adapters have links of their own, and no others.
    pub(super) fn stand_by(&mut self, vc: VcId) {
        if self.ofi.rails.iter().all(|rail| rail.own_rails.is_empty()) {
            return;
        }
        let is_to = |end: &End| end.vc == vc && end.link.is_some();
        let with_link = self.ofi.rails.iter().filter(|rail| rail.ends.iter().flatten().any(is_to));
        let giving_way: Vec<RailId> = with_link.flat_map(|rail| rail.own_rails.iter().copied()).collect();
        for at in self.peers[vc.0 as usize].streams() {
            let link = &self.links.streams[at];
            let stands_by = link.is_on_trial || giving_way.contains(&link.common.rail);
            self.engine.set_standby(link.common.subchannel, stands_by);
        }
    }
}

#[cfg(test)]
mod tests {
    use fishplate_engine::{Instant, RailId};

    use crate::endpoint::test_pair::Pair;
    use crate::ofi::{lock, use_library};
    use crate::sys::ofi::{Library, one_at_a_time};

    /// Bytes that the first endpoint has sent over its interface, and over the rail of a provider.
    fn sent(pair: &Pair) -> [u64; 2] {
        let links = &pair.ends[0].links;
        let streams = links.streams.iter().map(|(_, link)| link.common.counts.tx_bytes).sum();
        [streams, links.ofi.iter().map(|(_, link)| link.common.counts.tx_bytes).sum()]
    }

    #[test]
    fn an_interface_carries_nothing_while_its_adapter_does_and_all_once_that_is_gone() {
        let _guard = one_at_a_time();
        let name = c"libfabric.so.1";
        if let Err(why) = Library::open(name, false) {
            println!("skipped: there is no libfabric: {why}");
            return;
        }
        use_library(name);
        let mut pair = Pair::with_rails(&["lo", "tcp:lo"]);
        if pair.ends.iter().any(|end| end.ofi.len() == 0) {
            println!("skipped: the provider tcp cannot be a rail here");
            return;
        }
        for end in &mut pair.ends {
            end.ofi.rails[0].own_rails = vec![RailId(0)];
        }
        pair.until(|pair| pair.ends.iter().all(|end| end.links.ofi.len() == 1));
        pair.exchange();
        let before = sent(&pair);
        pair.exchange();
        let after = sent(&pair);
        assert_eq!(before[0], after[0]);
        assert!(after[1] > before[1]);
        pair.ends[0].ofi.rails[0].reopening.until = Instant(u64::MAX);
        lock(&pair.ends[0].ofi.rails[0].rail).close("a test");
        pair.until(|pair| pair.ends[0].links.ofi.is_empty());
        pair.exchange();
        assert!(sent(&pair)[0] > after[0]);
        pair.close();
    }
}
