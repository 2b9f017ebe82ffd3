//! How benchmarks access files.

use crate::storage::Piece;

/// Threads of a client, tiles, pixels and bytes of them, at most, each way.
pub(super) const MAX_COUNT: u64 = 1 << 16;

/// How files are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAccess {
    /// Whether they are written.
    pub write: bool,
    /// Threads of each client of `io_threads`.
    pub threads: u32,
    /// Whether these take records of all of the file, in any order.
    pub random: bool,
    /// Length of the file of `io_threads`, in bytes.
    pub file_bytes: u64,
    /// Tiles of `io_tile` side by side and one above the other.
    pub tiles: (u64, u64),
    /// Pixels of a tile.
    pub tile: (u64, u64),
    /// Pixels that neighbours have in common.
    pub overlap: (u64, u64),
    /// Bytes of a pixel.
    pub element: u64,
}

impl Default for FileAccess {
    fn default() -> Self {
        FileAccess {
            write: false,
            threads: 1,
            random: false,
            file_bytes: 512 << 20,
            tiles: (2, 1),
            tile: (1024, 768),
            overlap: (0, 0),
            element: 32,
        }
    }
}

impl FileAccess {
    /// Bytes of a tile of `io_tile`.
    pub fn tile_bytes(&self) -> u64 {
        self.tile.0 * self.tile.1 * self.element
    }

    /// The rows of one client's tile; those of the picture follow each other in the file.
    pub(super) fn rows(&self, rank: u32) -> Vec<Piece> {
        let steps = (self.tile.0 - self.overlap.0, self.tile.1 - self.overlap.1);
        let number = u64::from(rank) % (self.tiles.0 * self.tiles.1);
        let (left, top) = (number % self.tiles.0 * steps.0, number / self.tiles.0 * steps.1);
        let width = self.tiles.0 * steps.0 + self.overlap.0;
        let bytes = self.tile.0 * self.element;
        (0..self.tile.1).map(|row| Piece { offset: ((top + row) * width + left) * self.element, bytes }).collect()
    }

    /// Whether `io_tile` has such tiles.
    pub(super) fn check_tiles(&self) -> Result<(), String> {
        let FileAccess { tiles, tile, overlap, element, .. } = *self;
        let numbers = [tiles.0, tiles.1, tile.0, tile.1, element];
        if numbers.contains(&0) || numbers.iter().any(|number| *number > MAX_COUNT) {
            return Err(format!(
                "io_tile: {}x{} tiles of {}x{} pixels of {element} bytes: each number is from 1 to {MAX_COUNT}",
                tiles.0, tiles.1, tile.0, tile.1
            ));
        }
        if overlap.0 >= tile.0 || overlap.1 >= tile.1 {
            return Err(format!(
                "io_tile: an overlap of {}x{} is not less than a tile of {}x{}",
                overlap.0, overlap.1, tile.0, tile.1
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_the_picture_once() {
        let files = FileAccess { tiles: (2, 3), tile: (16, 8), element: 4, ..FileAccess::default() };
        let mut pieces: Vec<Piece> = (0..6).flat_map(|rank| files.rows(rank)).collect();
        pieces.sort_by_key(|piece| piece.offset);
        let end = pieces.iter().fold(0, |end, piece| {
            assert_eq!(piece.offset, end);
            end + piece.bytes
        });
        assert_eq!(end, 6 * files.tile_bytes());
    }

    #[test]
    fn neighbours_have_their_overlap_in_common() {
        let files = FileAccess { tiles: (2, 1), tile: (8, 2), overlap: (3, 0), element: 1, ..FileAccess::default() };
        let offsets = |rank| files.rows(rank).iter().map(|piece| piece.offset).collect::<Vec<_>>();
        assert_eq!((offsets(0), offsets(1), offsets(2)), (vec![0, 13], vec![5, 18], vec![0, 13]));
    }
}
