//! The picture of `chaos`: how many of the requests in each half second were not served.

use std::{fmt::Write, time::Duration};

use crate::chaos::{Phase, VisitorRequest};

const STEP: Duration = Duration::from_millis(500);

/// The area of the bars, and what is around it.
const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 160.0;
const LEFT: f64 = 50.0;
const TOP: f64 = 120.0;

const STYLE: &str = "\
  text { fill: #1c2430; } .soft { fill: #5b6675; } .line { stroke: #dde2e8; } .back { fill: #ffffff; }
  .fault { fill: #eef1f5; } .away { fill: #d9a441; } .none { fill: #b3261e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6e9ee; } .soft { fill: #9aa5b4; } .line { stroke: #303843; } .back { fill: #12161b; }
    .fault { fill: #232b35; } .away { fill: #e0b050; } .none { fill: #ff8f85; }
  }";

/// An SVG.
pub(crate) fn draw(phases: &[Phase], sent: &[VisitorRequest]) -> String {
    let end = phases.last().map_or(STEP, |phase| phase.to);
    let x = |at: Duration| LEFT + WIDTH * at.as_secs_f64() / end.as_secs_f64();
    let bottom = TOP + HEIGHT;
    let (width, height) = (LEFT + WIDTH + 25.0, bottom + 32.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <style>\n{STYLE}\n</style>\n\
         <rect class=\"back\" width=\"{width}\" height=\"{height}\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\" font-weight=\"600\">Requests that were not served, while \
         parts of the cluster were broken</text>\n\
         <rect class=\"away\" x=\"{LEFT}\" y=\"38\" width=\"12\" height=\"12\"/>\n\
         <text x=\"68\" y=\"49\">503: try again later</text>\n\
         <rect class=\"none\" x=\"220\" y=\"38\" width=\"12\" height=\"12\"/>\n\
         <text x=\"238\" y=\"49\">no response</text>\n"
    );
    // Writing to a string does not fail.
    for (level, phase) in phases.iter().filter(|phase| phase.is_fault).enumerate() {
        let (from, to) = (x(phase.from), x(phase.to));
        let y = if level % 2 == 0 { TOP - 12.0 } else { TOP - 30.0 };
        let _ = write!(
            svg,
            "<rect class=\"fault\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\n\
             <text x=\"{from:.1}\" y=\"{y}\">{}</text>\n",
            y + 4.0,
            to - from,
            bottom - y - 4.0,
            phase.name
        );
    }
    for percent in [0, 25, 50, 75, 100] {
        let y = bottom - HEIGHT * f64::from(percent) / 100.0;
        let _ = write!(
            svg,
            "<line class=\"line\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\"/>\n\
             <text class=\"soft\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{percent} %</text>\n",
            LEFT + WIDTH,
            LEFT - 8.0,
            y + 4.0
        );
    }
    for second in (0..=end.as_secs()).step_by(10) {
        let at = x(Duration::from_secs(second));
        let _ = writeln!(
            svg,
            "<text class=\"soft\" x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{second} s</text>",
            bottom + 18.0
        );
    }
    let mut from = Duration::ZERO;
    while from < end {
        let to = from + STEP;
        let of_step: Vec<&VisitorRequest> =
            sent.iter().filter(|sent| (from..to).contains(&sent.at)).collect();
        let share = |is: fn(u16) -> bool| {
            let count = of_step.iter().filter(|sent| is(sent.status)).count();
            HEIGHT * count as f64 / of_step.len().max(1) as f64
        };
        let (away, none) =
            (share(|status| status != 200 && status != 0), share(|status| status == 0));
        let mut y = bottom;
        for (class, height) in [("away", away), ("none", none)] {
            y -= height;
            if height > 0.0 {
                let width = x(to.min(end)) - x(from) - 0.5;
                let _ = writeln!(
                    svg,
                    "<rect class=\"{class}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
                     height=\"{height:.1}\"/>",
                    x(from)
                );
            }
        }
        from = to;
    }
    svg.push_str("</svg>\n");
    svg
}
