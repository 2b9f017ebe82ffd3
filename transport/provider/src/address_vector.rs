//! Address vector: the addresses of peers under the numbers that the application calls them by.

use std::sync::{Arc, RwLock};

use fishplate_rails::Address;
use ofi_abi::{FI_EINVAL, FI_ENOMEM};

use crate::bound::Bound;
use crate::domain::Domain;
use crate::errno::{Errno, Outcome, read_plain, write_plain};

/// Addresses of one address vector, at most: more processes than any machine has started, and 4 GiB of addresses.
const MAX_ADDRESSES: usize = 1 << 24;

/// The addresses. An index is used once: it stays empty after its removal, so that a late message is not attributed to another
/// peer.
pub struct AddressVector {
    table: RwLock<Vec<Option<Address>>>,
    pub endpoints: RwLock<Vec<Arc<dyn Bound>>>,
    /// Keeps the domain open.
    _domain: Arc<Domain>,
}

impl AddressVector {
    /// An empty address vector with room for `expected` addresses.
    pub fn new(expected: usize, domain: Arc<Domain>) -> AddressVector {
        let table = Vec::with_capacity(expected.min(MAX_ADDRESSES));
        AddressVector { table: RwLock::new(table), endpoints: RwLock::default(), _domain: domain }
    }

    /// Adds the address in `blob`. Returns its index, the next free one.
    pub fn insert(&self, blob: &[u8]) -> Outcome<u64> {
        let address = Address::decode(blob).map_err(|_| Errno(FI_EINVAL))?;
        let mut table = write_plain(&self.table);
        if table.len() >= MAX_ADDRESSES {
            return Err(Errno(FI_ENOMEM));
        }
        table.push(Some(address.clone()));
        let index = table.len() as u64 - 1;
        drop(table);
        read_plain(&self.endpoints).iter().for_each(|endpoint| endpoint.meet(&address));
        Ok(index)
    }

    /// Removes the address at `index`, also from the maps of endpoints.
    pub fn remove(&self, index: u64) -> Outcome<()> {
        {
            let mut table = write_plain(&self.table);
            let slot = usize::try_from(index).ok().and_then(|index| table.get_mut(index)).ok_or(Errno(FI_EINVAL))?;
            slot.take().ok_or(Errno(FI_EINVAL))?;
        }
        for endpoint in read_plain(&self.endpoints).iter() {
            endpoint.forget(index)?;
        }
        Ok(())
    }

    pub fn get(&self, index: u64) -> Option<Address> {
        read_plain(&self.table).get(usize::try_from(index).ok()?)?.clone()
    }

    /// Number of indices used so far.
    pub fn len(&self) -> usize {
        read_plain(&self.table).len()
    }
}

#[cfg(test)]
mod tests {
    use fishplate_rails::Settings;
    use fishplate_rails::address::Token;

    use super::*;
    use crate::domain::Fabric;
    use crate::regions::Addressing;

    fn vector() -> AddressVector {
        let fabric = Arc::new(Fabric { settings: Settings::default() });
        AddressVector::new(0, Arc::new(Domain::new(fabric, 0, Addressing::Offsets, false)))
    }

    fn address(number: u8) -> Address {
        Address::new(Token([number; 16]), 1, vec![vec!["10.0.0.1".parse().unwrap()]])
    }

    #[test]
    fn indices_follow_each_other_from_zero_and_duplicates_are_not_merged() {
        let vector = vector();
        for (expected, id) in [5, 6, 5].into_iter().enumerate() {
            assert_eq!(vector.insert(&address(id).encode()), Ok(expected as u64));
        }
        assert_eq!(vector.get(2), Some(address(5)));
        assert_eq!(vector.len(), 3);
    }

    #[test]
    fn a_bad_blob_takes_no_index() {
        let vector = vector();
        assert_eq!(vector.insert(&[0; 64]), Err(Errno(FI_EINVAL)));
        assert_eq!(vector.insert(&address(5).encode()), Ok(0));
    }

    #[test]
    fn a_removed_index_is_not_given_out_again() {
        let vector = vector();
        vector.insert(&address(5).encode()).unwrap();
        assert_eq!(vector.remove(0), Ok(()));
        assert_eq!(vector.remove(0), Err(Errno(FI_EINVAL)));
        assert_eq!(vector.remove(9), Err(Errno(FI_EINVAL)));
        assert_eq!(vector.get(0), None);
        assert_eq!(vector.insert(&address(6).encode()), Ok(1));
    }
}
