//! Several paths over one port: rails that have all parts of another one, and another way through the network.

use super::schema::Testbed;

impl Testbed {
    /// Gives rails that are paths the parts of the rail whose port they use.
    ///
    /// # Errors
    /// When there is no such rail before it, that is a path itself, or a path has parts.
    pub(super) fn share_ports(&mut self) -> Result<(), String> {
        for number in 0..self.rail.len() {
            let Some(over) = self.rail[number].path_over.clone() else { continue };
            let (port, name) = (self.port(number).0, self.rail[number].name.clone());
            let problem = |what: &str| Err(format!("rail {name}: path_over: {what}"));
            if port == number {
                return problem(&format!("no rail before it is called {over}"));
            }
            let of = self.rail[port].clone();
            if of.path_over.is_some() || of.emulated.is_some() {
                return problem(&format!("{over} has no port of its own"));
            }
            let rail = &mut self.rail[number];
            if rail.bus.is_some() || rail.adapter.is_some() || rail.link.is_some() || rail.switch.is_some() {
                return problem(&format!("it has the parts of {over}, and none of its own"));
            }
            (rail.bus, rail.adapter, rail.link, rail.switch) = (of.bus, of.adapter, of.link, of.switch);
        }
        Ok(())
    }

    /// The rail whose port a rail uses, and the number of its path there.
    pub(super) fn port(&self, rail: usize) -> (usize, usize) {
        let over = self.rail[rail].path_over.as_ref();
        let Some(over) = over else { return (rail, 0) };
        let before = &self.rail[..rail];
        let port = before.iter().position(|other| other.name == *over).unwrap_or(rail);
        (port, 1 + before.iter().filter(|other| other.path_over.as_ref() == Some(over)).count())
    }

    /// Paths over a rail's port.
    pub(super) fn paths(&self, port: usize) -> usize {
        let name = &self.rail[port].name;
        1 + self.rail.iter().filter(|rail| rail.path_over.as_ref() == Some(name)).count()
    }

    /// Whether links between blocks can be modelled as they are described.
    ///
    /// # Errors
    /// When not, with the reason.
    pub(super) fn check_inner_links(&self) -> Result<(), String> {
        for rail in &self.rail {
            let Some(switch) = &rail.switch else { continue };
            let is_count = |value: f64| value >= 1.0 && value.fract() == 0.0;
            let problem = |what: String| Err(format!("rail {}: switch: {what}", rail.name));
            for (name, of) in [("block_nodes", &switch.block_nodes), ("uplinks", &switch.uplinks)] {
                if let Some(of) = of.as_ref().filter(|of| !is_count(of.value)) {
                    return problem(format!("{name}: {} is not a whole number from 1 on", of.value));
                }
            }
            if switch.uplinks.is_some() && switch.block_nodes.is_none() {
                return problem("uplinks: without block_nodes there are no blocks to link".into());
            }
            if switch.uplinks.is_some() && self.wan.is_some() {
                return problem("uplinks: long-distance routers have no place in a fat tree here".into());
            }
        }
        Ok(())
    }
}
