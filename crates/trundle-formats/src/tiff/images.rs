//! Groups the pages of a file into images. Each image becomes a tensor.
//!
//! OME-XML, ImageJ and tifffile describe the axes of several pages in the description of the first page. Without such a
//! description, or if it does not fit the pages, all pages of the same layout are an image, as in tifffile.

use std::collections::HashMap;

use serde_json::Value;

use super::MAX_TENSORS;
use super::attributes::MAX_TEXT;
use super::ome::{Ome, OmeImage, most_planes};
use super::page::{Page, PageLayout};

/// An axis of a tensor: its name, if it has one, and its size.
pub(super) type Axis = (Option<String>, u64);

/// Pages that form a tensor.
pub(super) struct Image {
    /// The name; empty if it has none.
    pub(super) name: String,
    /// The pages, by number. A single page may be followed by the data of more images.
    pub(super) pages: Vec<u32>,
    /// The number of images: of the pages, or after the single page.
    pub(super) count: u64,
    pub(super) axes: Axes,
    pub(super) attributes: Vec<(String, Value)>,
}

pub(super) enum Axes {
    /// The axes in front of the axes of a page.
    Leading(Vec<Axis>),
    /// All axes of the tensor.
    All(Vec<Axis>),
}

fn axis(name: &str, size: u64) -> Axis {
    (Some(name.to_owned()), size)
}

/// Returns the axes with a size other than 1.
fn squeezed(axes: impl IntoIterator<Item = Axis>) -> Axes {
    Axes::Leading(axes.into_iter().filter(|(_, size)| *size != 1).collect())
}

/// The images of a file, and descriptions of the parts that are not read.
pub(super) struct Images {
    pub(super) images: Vec<Image>,
    pub(super) unread: Vec<String>,
}

impl Images {
    /// Groups pages; there must be at least one. `lost` describes pages of the file that cannot be found. `descriptions`
    /// returns the descriptions of a page.
    pub(super) fn of(
        pages: &[Page],
        lost: Option<String>,
        own_name: &str,
        mut descriptions: impl FnMut(&Page) -> Vec<String>,
    ) -> Images {
        let first = descriptions(&pages[0]);
        let find = |is: fn(&str) -> bool| first.iter().find(|text| is(text));
        let (kind, described) = if let Some(text) = find(is_ome) {
            ("OME-XML", of_ome(pages, text, own_name))
        } else if let Some(text) = find(|text| text.starts_with("ImageJ=")) {
            ("axes of ImageJ", of_imagej(pages, lost.is_none(), text))
        } else if find(|text| shape_of(text).is_some()).is_some() {
            ("axes of tifffile", of_tifffile(pages, lost.is_none(), descriptions))
        } else {
            ("", Ok(alike(pages)))
        };
        let mut unread: Vec<String> = lost.into_iter().collect();
        let images = described.unwrap_or_else(|why| {
            unread.push(format!("{kind} ({why})"));
            alike(pages)
        });
        let mut is_used = vec![false; pages.len()];
        images
            .iter()
            .flat_map(|image| &image.pages)
            .for_each(|page| is_used[*page as usize] = true);
        let left = || pages.iter().zip(&is_used).enumerate().filter(|(_, (_, is_used))| !**is_used);
        let numbered = |is_reduced: bool| -> Vec<usize> {
            let left = left().filter(|(_, (page, _))| page.is_reduced == is_reduced);
            left.map(|(number, _)| number + 1).collect()
        };
        unread.extend(listed(&numbered(false), "without a place in the image"));
        unread.extend(listed(&numbered(true), "of reduced resolution"));
        let below = pages.iter().map(|page| page.sub_directories).fold(0, u64::saturating_add);
        let full = match pages.iter().all(|page| page.is_reduced) {
            true => ", perhaps the full images, since all pages are of reduced resolution",
            false => "",
        };
        if below > 0 {
            unread.push(format!("{below} images below pages (SubIFDs){full}"));
        }
        Images { images, unread }
    }
}

/// Describes pages with these numbers that are left out.
fn listed(numbers: &[usize], why: &str) -> Option<String> {
    const MOST: usize = 8;
    let shown: Vec<String> = numbers.iter().take(MOST).map(usize::to_string).collect();
    let more = if numbers.len() > MOST { ", ..." } else { "" };
    match numbers {
        [] => None,
        [number] => Some(format!("page {number} {why}")),
        _ => Some(format!("{} pages {why} ({}{more})", numbers.len(), shown.join(", "))),
    }
}

fn is_ome(description: &str) -> bool {
    description.trim_end().ends_with("OME>")
}

/// Returns the shape in a description by tifffile, and all of the description. Old versions wrote `shape=(2, 3)`.
pub(super) fn shape_of(description: &str) -> Option<(Vec<u64>, Value)> {
    let text = description.trim();
    if text.len() as u64 > MAX_TEXT {
        return None;
    }
    if let Some(sizes) = text.strip_prefix("shape=(").and_then(|sizes| sizes.strip_suffix(')')) {
        let sizes = sizes.strip_suffix(',').unwrap_or(sizes).split(',');
        let shape = sizes.map(|size| size.trim().parse().ok()).collect::<Option<_>>()?;
        return Some((shape, Value::Null));
    }
    let text = text.starts_with("{\"shape\":").then_some(text)?;
    let all = trundle_json::parse(text.as_bytes()).ok()?;
    let shape = all["shape"].as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
    Some((shape, all))
}

/// Returns an image for each layout, without pages of reduced resolution unless all pages are.
fn alike(pages: &[Page]) -> Vec<Image> {
    let all_reduced = pages.iter().all(|page| page.is_reduced);
    let mut groups: Vec<Vec<u32>> = Vec::new();
    let mut known: HashMap<&PageLayout, usize> = HashMap::new();
    for (number, page) in pages.iter().enumerate() {
        if page.is_reduced && !all_reduced {
            continue;
        }
        let group = *known.entry(&page.layout).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(number as u32);
    }
    let image = |pages: Vec<u32>| {
        let count = pages.len() as u64;
        Image {
            name: String::new(),
            pages,
            count,
            axes: squeezed([axis("page", count)]),
            attributes: Vec::new(),
        }
    };
    groups.into_iter().map(image).collect()
}

fn of_ome(pages: &[Page], description: &str, own_name: &str) -> Result<Vec<Image>, String> {
    let ome = Ome::parse(description, pages.len())?;
    let mut left = most_planes(pages.len());
    let image = |image: &OmeImage| {
        let named = |why| format!("image \"{}\": {why}", image.name);
        let read = ome_image(pages, &ome, image, own_name).map_err(named)?;
        left = left.checked_sub(read.pages.len()).ok_or_else(|| {
            format!("its images share the file's {} planes too often", pages.len())
        })?;
        Ok(read)
    };
    match ome.images.is_empty() {
        true => Err("it has no images".to_owned()),
        false => ome.images.iter().map(image).collect(),
    }
}

fn ome_image(pages: &[Page], ome: &Ome, image: &OmeImage, own_name: &str) -> Result<Image, String> {
    let letters: Vec<char> = image.axes.chars().collect();
    let ([leading @ .., 'Y', 'X'], [sizes @ .., height, width]) = (&letters[..], &image.sizes[..])
    else {
        return Err(format!("its order of axes is \"{}\"", image.axes));
    };
    let first = pages.get(image.first_page() as usize);
    let layout = first.and_then(|page| page.layout.as_ref().ok());
    if layout.is_some_and(|layout| (layout.height, layout.width) != (*height, *width)) {
        return Err("its pages have other sizes".to_owned());
    }
    // The samples of a pixel are counted as channels.
    let samples = layout.map_or(1, |layout| layout.samples);
    let of_pages = |(letter, size): (&char, &u64)| match letter {
        'C' if size % samples == 0 => size / samples,
        _ => *size,
    };
    let sizes: Vec<u64> = leading.iter().zip(sizes).map(of_pages).collect();
    let pages = ome.pages_of(image, (leading, &sizes), pages.len() as u64, own_name)?;
    let names = leading.iter().map(|letter| letter.to_lowercase().to_string());
    Ok(Image {
        name: image.name.clone(),
        count: pages.len() as u64,
        pages,
        axes: squeezed(names.zip(sizes).map(|(name, size)| (Some(name), size))),
        attributes: image.attributes.clone(),
    })
}

/// Returns the image that ImageJ describes. If `is_complete` is true, a single page may be followed by the data of more
/// images.
fn of_imagej(pages: &[Page], is_complete: bool, description: &str) -> Result<Vec<Image>, String> {
    let text = |key: &str| {
        let mut lines = description.lines().filter_map(|line| line.split_once('='));
        lines.find(|(own, _)| *own == key).map(|(_, it)| it.trim())
    };
    let number = |key: &str| text(key).and_then(|it| it.parse().ok());
    let (frames, slices) = (number("frames").unwrap_or(1), number("slices").unwrap_or(1));
    let mut channels: u64 = number("channels").unwrap_or(1);
    let layout = pages[0].layout.as_ref().map_err(ToString::to_string)?;
    // The samples of a pixel can be counted as channels.
    let images: Option<u64> = number("images");
    let is_counted = layout.is_planar || images == frames.checked_mul(slices);
    if channels == layout.samples && is_counted {
        channels = 1;
    }
    // The fastest axis is first.
    let order = text("order").map_or_else(|| "czt".to_owned(), str::to_lowercase);
    let axes = match &order[..] {
        "czt" | "default" => ["t", "z", "c"],
        "ctz" => ["z", "t", "c"],
        "zct" => ["t", "c", "z"],
        "ztc" => ["c", "t", "z"],
        "tcz" => ["z", "c", "t"],
        "tzc" => ["c", "z", "t"],
        _ => return Err("their order is not known".to_owned()),
    };
    let axes = axes.map(|name| match name {
        "t" => axis(name, frames),
        "z" => axis(name, slices),
        _ => axis(name, channels),
    });
    let count = axes.iter().try_fold(1u64, |count, (_, size)| count.checked_mul(*size));
    let (count, axes) = match (count, images) {
        (Some(1), Some(images)) => (images, squeezed([axis("page", images)])),
        (Some(count), _) => (count, squeezed(axes)),
        (None, _) => return Err("their sizes are too large".to_owned()),
    };
    let is_one = is_complete && pages.len() == 1 && count > 1;
    if count == 0 || !is_one && count != pages.len() as u64 {
        return Err(format!("{count} images, but {} pages", pages.len()));
    }
    let pages = if is_one { vec![0] } else { (0..pages.len() as u32).collect() };
    Ok(vec![Image { name: String::new(), pages, count, axes, attributes: Vec::new() }])
}

/// Returns the images that tifffile describes. If `is_complete` is true, a single page may be followed by the data of more
/// images.
fn of_tifffile(
    pages: &[Page],
    is_complete: bool,
    mut descriptions: impl FnMut(&Page) -> Vec<String>,
) -> Result<Vec<Image>, String> {
    let (mut images, mut number) = (Vec::new(), 0);
    while let Some(page) = pages.get(number)
        && images.len() <= MAX_TENSORS
    {
        let described = descriptions(page).iter().find_map(|text| shape_of(text));
        let (shape, all) = described.ok_or_else(|| format!("page {} has none", number + 1))?;
        let layout = page.layout.as_ref().map_err(ToString::to_string)?;
        let elements = shape.iter().try_fold(1u64, |count, size| count.checked_mul(*size));
        let of_page = [layout.width, layout.height, layout.samples];
        let of_page = of_page.iter().try_fold(1u64, |count, size| count.checked_mul(*size));
        let misfit = || format!("shape {shape:?} does not fit page {}", number + 1);
        let (Some(elements), Some(of_page)) = (elements, of_page) else { return Err(misfit()) };
        let count = elements / of_page;
        let left = (pages.len() - number) as u64;
        let is_one = is_complete && count > 1 && (all["truncated"] == true || count > left);
        if count == 0 || elements % of_page > 0 || count > left && !is_one {
            return Err(misfit());
        }
        let taken = if is_one { 1 } else { count as usize };
        let letters = all["axes"].as_str().unwrap_or_default();
        let axes = match letters.chars().count() == shape.len() {
            true => letters.chars().map(|letter| Some(name_of(letter, letters))).collect(),
            false => vec![None; shape.len()],
        };
        images.push(Image {
            name: all["name"].as_str().unwrap_or_default().to_owned(),
            pages: (number as u32..(number + taken) as u32).collect(),
            count,
            axes: Axes::All(axes.into_iter().zip(shape).collect()),
            attributes: Vec::new(),
        });
        number += taken;
    }
    Ok(images)
}

/// Returns the name for one of tifffile's letters.
fn name_of(letter: char, letters: &str) -> String {
    match letter {
        'S' if !letters.contains('C') => "c".to_owned(),
        'I' | 'Q' => "page".to_owned(),
        _ => letter.to_lowercase().to_string(),
    }
}
