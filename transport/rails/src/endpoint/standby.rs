//! Links that stand by: they carry nothing to a peer while better ones do. These are links over ways of a worse class, and links
//! over an adapter's network interfaces while the adapter has links of its own to the peer, as both use one wire.

use fishplate_engine::{SubchannelId, VcId};

use super::Endpoint;
use crate::discover::Class;
use crate::link::StreamLink;

impl Endpoint {
    /// Updates which links to a peer stand by.
    pub(in crate::endpoint) fn stand_by(&mut self, vc: VcId) {
        let giving_way = self.links.ofi.own_rails_of_links_to(vc);
        let links = || self.links.tcp.of_peer(&self.peers[vc]).map(|(_, link)| link);
        let best = links().map(|link| link.class).min().unwrap_or(Class::Rail);
        let stands_by =
            |link: &StreamLink| link.is_on_trial || link.class > best || giving_way.contains(&link.common.rail);
        let mut all: Vec<(bool, SubchannelId)> =
            links().map(|link| (stands_by(link), link.common.subchannel)).collect();
        // Links that carry again come first, so that one carries at every moment.
        all.sort_by_key(|(stands_by, _)| *stands_by);
        all.into_iter().for_each(|(stands_by, subchannel)| self.engine.set_standby(subchannel, stands_by));
    }
}

#[cfg(test)]
mod tests {
    use fishplate_engine::RailId;
    use fishplate_rails_ofi::load_library;

    use crate::endpoint::test_pair::Pair;

    /// Bytes that the first endpoint has sent over its interface, and over the rail of a provider.
    fn sent(pair: &Pair) -> [u64; 2] {
        let links = &pair.ends[0].links;
        let streams = links.tcp.iter().map(|(_, link)| link.common.counts.tx_bytes).sum();
        [streams, links.ofi.iter().map(|(_, link)| link.common.counts.tx_bytes).sum()]
    }

    #[test]
    fn an_interface_carries_nothing_while_its_adapter_does_and_all_once_that_is_gone() {
        if let Err(why) = load_library(c"libfabric.so.1") {
            println!("skipped: there is no libfabric: {why}");
            return;
        }
        let mut pair = Pair::with_rails(&["lo", "tcp:lo"]);
        if pair.ends.iter().any(|end| end.links.ofi.rail_count() == 0) {
            println!("skipped: the provider tcp cannot be a rail here");
            return;
        }
        for end in &mut pair.ends {
            end.links.ofi.set_own_rails(vec![RailId(0)]);
        }
        pair.until(|pair| pair.ends.iter().all(|end| end.links.ofi.len() == 1));
        pair.exchange();
        let before = sent(&pair);
        pair.exchange();
        let after = sent(&pair);
        assert_eq!(before[0], after[0]);
        assert!(after[1] > before[1]);
        pair.ends[0].links.ofi.close_first();
        pair.until(|pair| pair.ends[0].links.ofi.is_empty());
        pair.exchange();
        assert!(sent(&pair)[0] > after[0]);
        pair.close();
    }
}
