//! A profile as a page.

mod arrays;
mod breakdown;
mod matrix;
mod sizes;
mod tables;
mod timeline;

use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use self::arrays::Arrays;
use super::findings;
use crate::output::page;
use crate::profile::schema::{Profile, World};
use crate::profile::summary;

const STYLE: &str = include_str!("profile.css");
/// The script, part by part.
const SCRIPT: [&str; 4] =
    [include_str!("drawing.js"), include_str!("timeline.js"), include_str!("matrix.js"), include_str!("start.js")];

/// Most programs of one command that are shown: those that took longest.
const MAX_WORLDS: usize = 4;

/// Data about a program for the page's script.
#[derive(Serialize)]
struct Description {
    timeline: Option<timeline::Timeline>,
    matrix: Option<matrix::Matrix>,
}

pub fn render(profile: &Profile) -> String {
    let mut worlds = summary::by_time(profile);
    let left_out = worlds.len().saturating_sub(MAX_WORLDS);
    worlds.truncate(MAX_WORLDS);
    let title = format!("Profile of {}", worlds.first().map_or("nothing".into(), |world| summary::programs(world)));
    let body = html! {
        (style())
        header {
            p .mark { "Fishplate" }
            h1 { (title) }
            @if let [only] = worlds[..] { (tables::lead(only)) (tables::tiles(only)) }
            p .note { code { (profile.command.join(" ")) } }
            p .note {
                "Run " (profile.started)
                @if let Some(code) = profile.exit_code { ", exit code " (code) }
                "."
            }
            (list(findings::of_profile(profile)))
            @if left_out > 0 { p .note { "Of the programs, the " (MAX_WORLDS) " that took longest are shown." } }
        }
        @for (number, world) in worlds.iter().enumerate() {
            @if worlds.len() > 1 {
                section .program { h2 { (summary::programs(world)) } (tables::lead(world)) (tables::tiles(world)) }
            }
            (program(profile, world, number, worlds.len()))
        }
        (script())
    };
    page::render(&title, &[], &body)
}

/// Style sheet of the page.
pub fn style() -> Markup {
    html! { style { (PreEscaped(STYLE)) } }
}

/// Script of the page, at its end.
pub fn script() -> Markup {
    // Its names are unique on the page.
    html! { script { (PreEscaped(format!("{{\n{}}}", SCRIPT.concat()))) } }
}

/// A program, one of `parts` parts of a page.
pub fn program(profile: &Profile, world: &World, number: usize, parts: usize) -> Markup {
    let mut arrays = Arrays::default();
    let description = Description {
        timeline: timeline::of(profile, world, &mut arrays, parts),
        matrix: matrix::of(world, &mut arrays),
    };
    // "</script>" in a name would end the script.
    let words = serde_json::to_string(&description).unwrap_or_default().replace('<', "\\u003c");
    html! {
        (list(findings::of_world(world)))
        (breakdown::markup(world))
        @if let Some(timeline) = &description.timeline { (timeline::markup(timeline, number)) }
        (tables::calls(world))
        (tables::sites(world))
        (sizes::markup(world))
        (matrix::markup(world, number))
        (tables::communicators(world))
        (tables::ranks(world))
        script type="application/json" id=(format!("description-{number}")) { (PreEscaped(words)) }
        script type="text/plain" id=(format!("packed-{number}")) { (PreEscaped(arrays.packed())) }
    }
}

fn list(lines: Vec<String>) -> Markup {
    html! { @if !lines.is_empty() { ul .findings { @for line in lines { li { (line) } } } } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::schema::{Column, Rank, Series, Way};
    use crate::profile::{analysis, raw, test_ranks};

    /// Numbers that nothing can be saved on.
    fn noise(state: &mut u64) -> u32 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 40) as u32
    }

    fn series(host: &str, names: &[&str], steps: usize, state: &mut u64) -> Series {
        let mut column = |name: &&str| {
            let most = if name.contains("MPI") { 10_000 } else { 1 << 24 };
            Column { name: name.to_string(), data: (0..steps).map(|_| noise(state) % most).collect() }
        };
        let columns = names.iter().map(&mut column).collect();
        Series { host: host.into(), host_id: None, step_ns: 10_000_000, first_step: 1000, is_cut: false, columns }
    }

    fn made_up(ranks: usize, steps: usize) -> Profile {
        let mut state = 1;
        let ranks_of = (0..ranks).map(|rank| test_ranks::rank(rank, ranks)).collect();
        let raw = raw::Raw { ranks: ranks_of, ..raw::Raw::default() };
        let mut profile = analysis::profile(raw, Some(0));
        // Created once, as ranks are not compared.
        let columns = ["MPI, us", "sent", "received", "r0 sent", "r0 received"];
        let over_time = [series("a", &columns, steps, &mut state), series("b", &columns, steps, &mut state)];
        for (number, rank) in profile.worlds[0].ranks.iter_mut().enumerate() {
            fill(rank, &over_time[number % 2], ranks);
        }
        for host in ["a", "b"] {
            let interfaces = ["eth0 sent", "eth0 received", "eth1 sent", "eth1 received"];
            profile.hosts.push(series(host, &interfaces, steps, &mut state));
        }
        profile
    }

    fn fill(rank: &mut Rank, over_time: &Series, ranks: usize) {
        rank.host.clone_from(&over_time.host);
        rank.series = Some(over_time.clone());
        let traffic =
            crate::profile::schema::Traffic { sent: 10, sent_bytes: 1 << 20, received: 10, received_bytes: 1 << 20 };
        rank.peers = (0..ranks).map(|rank| crate::profile::schema::Peer { rank, traffic }).collect();
        rank.sizes = vec![crate::profile::schema::Size { way: Way::Sent, least: 1 << 16, messages: 9, bytes: 9 << 16 }];
    }

    #[test]
    fn an_hour_of_64_ranks_is_below_5_mb() {
        let page = render(&made_up(64, 360_000));
        assert!(page.len() < 5_000_000, "{}", page.len());
        if let Some(folder) = std::env::var_os("FISHPLATE_TEST_PAGES") {
            std::fs::write(std::path::Path::new(&folder).join("hour.html"), page).unwrap();
        }
    }

    #[test]
    fn a_page_without_programs_says_why() {
        assert!(render(&analysis::profile(raw::Raw::default(), None)).contains("no process called MPI"));
    }

    #[test]
    fn names_cannot_end_the_script() {
        let mut profile = made_up(2, 10);
        profile.hosts[0].host = "</script>".into();
        let page = render(&profile);
        assert!(page.contains("\\u003c/script>") && !page.contains("\"</script>"), "{page}");
    }
}
