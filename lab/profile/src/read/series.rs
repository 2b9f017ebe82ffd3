//! Reads a file of time series.

use fishplate_host::{Host, HostId};

use super::Error;
use crate::series_file::{self, header};
use crate::words;

/// The time series of a rank or a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The rank; `None` for the series of a host.
    pub rank: Option<usize>,
    /// Name of the host.
    pub host: String,
    /// Identifies the host; derived from its name in files of earlier versions.
    pub host_id: HostId,
    /// Time of day of the first step, in units of [`series_file::STEP_NS`].
    pub first_step: u64,
    /// Whether steps are missing at the end, as the disk was full.
    pub is_cut: bool,
    /// Names of columns.
    pub names: Vec<String>,
    /// Values of each column, by step.
    pub columns: Vec<Vec<u32>>,
}

/// Reads a file of time series.
pub fn series(bytes: &[u8]) -> Result<Series, Error> {
    let (head, numbers) = bytes.split_at_checked(header::WORDS * size_of::<u64>()).ok_or(Error::Foreign)?;
    let head = words::from_bytes(head);
    let columns = head[header::COLUMNS] as usize;
    if head[header::MAGIC] != series_file::MAGIC || !(1..=series_file::MAX_COLUMNS).contains(&columns) {
        return Err(Error::Foreign);
    }
    let name = |column: usize| {
        let at = header::NAMES + column * header::NAME_WORDS;
        words::load_text(&head[at..at + header::NAME_WORDS])
    };
    let numbers: Vec<u32> = numbers.as_chunks().0.iter().copied().map(u32::from_ne_bytes).collect();
    let steps = (head[header::STEPS] as usize).min(numbers.len() / columns);
    let column = |column: usize| numbers.iter().skip(column).step_by(columns).take(steps).copied().collect();
    let host = words::load_text(&head[header::HOST]);
    Ok(Series {
        host_id: HostId::of_number(head[header::HOST_ID]).unwrap_or_else(|| Host::named(&host).id()),
        rank: head[header::RANK].checked_sub(1).map(|rank| rank as usize),
        host,
        first_step: head[header::FIRST_STEP],
        is_cut: head[header::IS_CUT] != 0,
        names: (0..columns).map(name).collect(),
        columns: (0..columns).map(column).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::to_bytes;

    #[test]
    fn a_series_has_as_many_steps_as_are_whole() {
        let mut head = vec![0; header::WORDS];
        head[header::MAGIC] = series_file::MAGIC;
        head[header::COLUMNS] = 2;
        head[header::STEPS] = 5;
        head[header::RANK] = 4;
        let mut file = to_bytes(&head);
        file.extend([1_u32, 10, 2, 20, 3].iter().flat_map(|number| number.to_ne_bytes()));
        let series = series(&file).unwrap();
        assert_eq!((series.rank, series.columns), (Some(3), vec![vec![1, 2], vec![10, 20]]));
    }

    #[test]
    fn bytes_that_are_no_series_are_refused() {
        assert_eq!(series(b"").unwrap_err(), Error::Foreign);
        assert_eq!(series(&to_bytes(&[0; header::WORDS])).unwrap_err(), Error::Foreign);
    }
}
