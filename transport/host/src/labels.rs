//! Names of hosts where they are shown.

use std::collections::BTreeMap;

use super::id::HostId;

/// Names of hosts where they are shown, with a number where several have one name.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    hosts: BTreeMap<String, Vec<HostId>>,
}

impl Labels {
    /// Of these hosts, with their names. Numbers go by the order in which hosts come first.
    pub fn of<'a>(hosts: impl IntoIterator<Item = (HostId, &'a str)>) -> Labels {
        let mut labels = Labels::default();
        hosts.into_iter().for_each(|(id, name)| labels.add(id, name));
        labels
    }

    /// Another one: the numbers of those that are there already stay.
    pub fn add(&mut self, id: HostId, name: &str) {
        match self.hosts.get_mut(name) {
            Some(same) if !same.contains(&id) => same.push(id),
            Some(_) => {}
            None => drop(self.hosts.insert(name.into(), vec![id])),
        }
    }

    /// The name of one of them.
    pub fn label(&self, id: HostId, name: &str) -> String {
        let same = self.hosts.get(name).filter(|same| same.len() > 1);
        match same.and_then(|same| same.iter().position(|known| *known == id)) {
            Some(place) => format!("{name} ({})", place + 1),
            None => name.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_with_equal_names_have_numbers() {
        let [one, two, three] = [1, 2, 3].map(|number| HostId::of_number(number).unwrap());
        let mut labels = Labels::of([(one, "node"), (two, "node"), (one, "node"), (three, "other"), (one, "alias")]);
        let shown = |labels: &Labels| {
            [(one, "node"), (two, "node"), (three, "other"), (one, "alias")].map(|(id, name)| labels.label(id, name))
        };
        assert_eq!(shown(&labels), ["node (1)", "node (2)", "other", "alias"]);
        labels.add(three, "node");
        assert_eq!(shown(&labels)[..2], ["node (1)", "node (2)"]);
        assert_eq!(labels.label(three, "node"), "node (3)");
    }
}
