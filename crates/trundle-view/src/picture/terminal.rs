//! Writes pictures as text, for a terminal or a log.

use std::fmt::Write;

use super::Picture;
use super::draw::NOT_FINITE;

/// The colours that a terminal supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// 24-bit colour.
    TrueColour,
    /// The 256 colours of xterm: 24 greys, and a cube of 6 levels of red, green and blue.
    Xterm256,
    /// No colour: characters from light to heavy, and `?` for values that are not finite.
    Ascii,
}

impl Palette {
    /// Chooses the palette from the environment variables `NO_COLOR`, `TERM` and `COLORTERM`. It is `Ascii` if the
    /// output is not a terminal.
    pub fn detect(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> Palette {
        let no_colour = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = variable("TERM").is_some_and(|term| term == "dumb");
        if !is_terminal || no_colour || dumb {
            Palette::Ascii
        } else if matches!(variable("COLORTERM").as_deref(), Some("truecolor" | "24bit")) {
            Palette::TrueColour
        } else {
            Palette::Xterm256
        }
    }
}

/// Smaller pictures are enlarged if there is space.
const LEAST_LONG_SIDE: usize = 32;

/// Thinner pictures are widened: four pixels are two lines.
const LEAST_SHORT_SIDE: usize = 4;

const RAMP: [char; 10] = [' ', '.', ':', '-', '=', '+', '*', '#', '%', '@'];

/// Renders the picture as at most `rows` lines of at most `columns` characters, both at least 1. The proportions are
/// kept for characters that are twice as high as wide. Every line ends with a newline.
pub fn render(picture: &Picture, columns: usize, rows: usize, palette: Palette) -> String {
    let (width, height) = fitted(picture, columns.max(1), rows.max(1).saturating_mul(2));
    match palette {
        Palette::Ascii => characters(&picture.resized(width, height.div_ceil(2))),
        _ => half_blocks(&picture.resized(width, height), palette),
    }
}

fn fitted(picture: &Picture, most_width: usize, most_height: usize) -> (usize, usize) {
    let (width, height) = (picture.width, picture.height);
    let factor = (most_width / width).min(most_height / height);
    let (fit_width, fit_height) = if factor >= 1 {
        let factor = factor.min(LEAST_LONG_SIDE.div_ceil(width.max(height)));
        (width * factor, height * factor)
    } else if width as u128 * most_height as u128 > height as u128 * most_width as u128 {
        (most_width, scaled(height, most_width, width))
    } else {
        (scaled(width, most_height, height), most_height)
    };
    (
        fit_width.max(LEAST_SHORT_SIDE.min(most_width)),
        fit_height.max(LEAST_SHORT_SIDE.min(most_height)),
    )
}

/// `size * to / from`, rounded; at most `size`, because `to` is at most `from`.
fn scaled(size: usize, to: usize, from: usize) -> usize {
    let (size, to, from) = (size as u128, to as u128, from as u128);
    ((size * to + from / 2) / from) as usize
}

/// One character for each pixel, without spaces at the end of a line.
fn characters(picture: &Picture) -> String {
    let mut text = String::new();
    for row in 0..picture.height {
        let line: String =
            (0..picture.width).map(|column| character(picture.rgb(row, column))).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Brighter colours have heavier characters.
fn character([red, green, blue]: [u8; 3]) -> char {
    if [red, green, blue] == NOT_FINITE {
        return '?';
    }
    // The luma of Rec. 601, in thousandths.
    let luma = 299 * usize::from(red) + 587 * usize::from(green) + 114 * usize::from(blue);
    RAMP[luma * RAMP.len() / (1000 * 256)]
}

/// Two pixels are one character: the upper one in the foreground colour, the lower one in the background colour. A
/// colour is set only where it changes, and reset at the end of each line.
fn half_blocks(picture: &Picture, palette: Palette) -> String {
    let mut text = String::new();
    for row in (0..picture.height).step_by(2) {
        let mut set = (None, None);
        for column in 0..picture.width {
            let upper = Some(colour(picture.rgb(row, column), palette));
            let below = row + 1 < picture.height;
            let lower = below.then(|| colour(picture.rgb(row + 1, column), palette));
            for (layer, is, was) in [(38, &upper, &set.0), (48, &lower, &set.1)] {
                if let Some(colour) = is
                    && is != was
                {
                    let _ = write!(text, "\x1b[{layer};{colour}m");
                }
            }
            set = (upper, lower);
            text.push('▀');
        }
        text.push_str("\x1b[0m\n");
    }
    text
}

/// The part of a control sequence after the number for foreground or background.
fn colour([red, green, blue]: [u8; 3], palette: Palette) -> String {
    if palette == Palette::TrueColour {
        format!("2;{red};{green};{blue}")
    } else if red == green && green == blue {
        format!("5;{}", 232 + grey_step(red))
    } else {
        let [red, green, blue] = [red, green, blue].map(cube_step);
        format!("5;{}", 16 + 36 * red + 6 * green + blue)
    }
}

/// xterm's greys have the levels 8, 18, ..., 238.
fn grey_step(level: u8) -> u8 {
    (level.saturating_sub(3) / 10).min(23)
}

/// The levels of xterm's colour cube are 0, 95, 135, ..., 255.
fn cube_step(level: u8) -> u8 {
    match level {
        0..48 => 0,
        48..115 => 1,
        _ => (level - 35) / 40,
    }
}

#[cfg(test)]
mod tests {
    use super::super::draw::{self, Contrast};
    use super::super::tests::{grey, rgb};
    use super::*;

    #[test]
    fn the_palette_follows_the_environment() {
        let detect = |is_terminal, variables: &[(&str, &str)]| {
            Palette::detect(is_terminal, |name| {
                let found = variables.iter().find(|(variable, _)| *variable == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(detect(true, &[("COLORTERM", "truecolor")]), Palette::TrueColour);
        assert_eq!(detect(true, &[("COLORTERM", "24bit"), ("NO_COLOR", "")]), Palette::TrueColour);
        assert_eq!(detect(true, &[("TERM", "xterm-256color")]), Palette::Xterm256);
        assert_eq!(detect(true, &[("COLORTERM", "truecolor"), ("NO_COLOR", "1")]), Palette::Ascii);
        assert_eq!(detect(true, &[("TERM", "dumb")]), Palette::Ascii);
        assert_eq!(detect(false, &[("COLORTERM", "truecolor")]), Palette::Ascii);
    }

    #[test]
    fn pictures_keep_their_proportions_within_the_terminal() {
        let fit = |width, height, columns, rows: usize| {
            fitted(&grey([[0]]).resized(width, height), columns, 2 * rows)
        };
        assert_eq!(fit(256, 256, 80, 24), (48, 48));
        assert_eq!(fit(512, 256, 80, 24), (80, 40));
        assert_eq!(fit(40, 20, 80, 24), (40, 20));
        assert_eq!(fit(400, 399, 8, 10), (8, 8));
        assert_eq!(fit(4, 4, 80, 24), (32, 32));
        assert_eq!(fit(4, 4, 10, 24), (8, 8));
        assert_eq!(fit(1000, 1, 80, 24), (80, 4));
        assert_eq!(fit(1, 1000, 80, 24), (4, 48));
        assert_eq!(fit(100, 100, 1, 1), (1, 2));
    }

    #[test]
    fn true_colours_are_set_where_they_change() {
        let picture = grey([[0, 0, 9], [0, 5, 5]]);
        assert_eq!(
            half_blocks(&picture, Palette::TrueColour),
            "\x1b[38;2;0;0;0m\x1b[48;2;0;0;0m▀\x1b[48;2;5;5;5m▀\x1b[38;2;9;9;9m▀\x1b[0m\n"
        );
        let odd = rgb([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]]);
        assert_eq!(
            half_blocks(&odd, Palette::TrueColour),
            "\x1b[38;2;1;2;3m\x1b[48;2;4;5;6m▀\x1b[0m\n\x1b[38;2;7;8;9m▀\x1b[0m\n"
        );
    }

    #[test]
    fn the_256_colours_are_greys_and_a_cube() {
        let picture = rgb([[[0; 3]], [NOT_FINITE]]);
        let text = half_blocks(&picture, Palette::Xterm256);
        assert_eq!(text, "\x1b[38;5;232m\x1b[48;5;201m▀\x1b[0m\n");
        let nearest =
            |levels: &[u8], level: u8| levels.iter().map(|is| is.abs_diff(level)).min().unwrap();
        let greys: Vec<u8> = (0..24).map(|step| 8 + 10 * step).collect();
        let cube: [u8; 6] = [0, 95, 135, 175, 215, 255];
        for level in 0..=255 {
            let grey = greys[usize::from(grey_step(level))];
            assert_eq!(grey.abs_diff(level), nearest(&greys, level));
            let side = cube[usize::from(cube_step(level))];
            assert_eq!(side.abs_diff(level), nearest(&cube, level));
        }
    }

    #[test]
    fn characters_go_from_light_to_heavy() {
        let line = |pixels: [[u8; 3]; 6]| characters(&rgb([pixels]));
        assert_eq!(line([[0; 3], [26; 3], [128; 3], [255; 3], NOT_FINITE, [0; 3]]), " .+@?\n");
        assert_eq!(line([[255, 0, 0], [0, 255, 0], [0, 0, 255], [0; 3], [0; 3], [0; 3]]), ":+.\n");
    }

    #[test]
    fn a_picture_in_characters() {
        let size = (96, 96);
        let disc = draw::values(size, Contrast::Percentiles, 96, |row, column| {
            let radius = (row as f64 - 47.5).hypot(column as f64 - 47.5);
            if radius < 44.0 { 60.0 - radius } else { 0.0 }
        });
        let lines = [
            "         ......",
            "     .:--======--:.",
            "   .--==++++++++==--.",
            "  :-==++***##***++==-:",
            " .-==+**##%%%%##**+==-.",
            " --=++*#%%@@@@%%#*++=--",
            " --=++*#%%@@@@%%#*++=--",
            " .-==+**##%%%%##**+==-.",
            "  :-==++***##***++==-:",
            "   .--==++++++++==--.",
            "     .:--======--:.",
            "         ......",
        ];
        let text = render(&disc.picture, 40, 12, Palette::Ascii);
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
        assert!(text.ends_with('\n'));
        let odd = grey([[255; 40]; 33]);
        assert_eq!(render(&odd, 40, 20, Palette::Ascii), ("@".repeat(40) + "\n").repeat(17));
    }
}
