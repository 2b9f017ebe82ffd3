//! A slab: values by small numbers, which are reused.

/// Values by number.
#[derive(Debug)]
pub struct Slab<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { values: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Adds a value.
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(name) = self.free.pop() {
            self.values[name as usize] = Some(value);
            return name;
        }
        self.values.push(Some(value));
        self.values.len() as u32 - 1
    }

    /// The value of that name.
    pub fn get(&self, name: u32) -> Option<&T> {
        self.values.get(name as usize)?.as_ref()
    }

    /// The value of that name.
    pub fn get_mut(&mut self, name: u32) -> Option<&mut T> {
        self.values.get_mut(name as usize)?.as_mut()
    }

    /// Takes a value out.
    pub fn remove(&mut self, name: u32) -> Option<T> {
        let value = self.values.get_mut(name as usize)?.take();
        if value.is_some() {
            self.free.push(name);
        }
        value
    }
}
