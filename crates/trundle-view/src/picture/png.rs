use std::io::{self, Write};

use png::{BitDepth, ColorType, Encoder, EncodingError};

use super::Picture;

/// Writes the picture as PNG with eight bits for each channel.
///
/// # Errors
/// Any error of `out`; [`io::ErrorKind::InvalidInput`] if a side has more than 2³¹ - 1 pixels.
pub fn write(picture: &Picture, out: impl Write) -> io::Result<()> {
    let side = |pixels: usize| u32::try_from(pixels).map_err(|_| too_large(picture));
    let mut encoder = Encoder::new(out, side(picture.width)?, side(picture.height)?);
    encoder.set_color(if picture.channels == 3 { ColorType::Rgb } else { ColorType::Grayscale });
    encoder.set_depth(BitDepth::Eight);
    encoder
        .add_text_chunk("Software".to_owned(), "trundle".to_owned())
        .and_then(|()| {
            let mut writer = encoder.write_header()?;
            writer.write_image_data(&picture.bytes)?;
            writer.finish()
        })
        .map_err(|error| match error {
            EncodingError::IoError(error) => error,
            _ => too_large(picture),
        })
}

fn too_large(picture: &Picture) -> io::Error {
    let message = format!("{} x {} pixels are too many for PNG", picture.width, picture.height);
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{grey, rgb};
    use super::*;

    #[track_caller]
    fn check_round_trip(picture: &Picture, colour: ColorType) {
        let mut file = Vec::new();
        write(picture, &mut file).unwrap();
        let mut reader = png::Decoder::new(io::Cursor::new(file)).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut bytes).unwrap();
        assert_eq!((frame.color_type, frame.bit_depth), (colour, BitDepth::Eight));
        assert_eq!((frame.width as usize, frame.height as usize), (picture.width, picture.height));
        assert_eq!(bytes, picture.bytes);
        let text = &reader.info().uncompressed_latin1_text[0];
        assert_eq!((text.keyword.as_str(), text.text.as_str()), ("Software", "trundle"));
    }

    #[test]
    fn a_png_reads_back_as_its_picture() {
        check_round_trip(&grey([[0, 1, 255], [128, 2, 3]]), ColorType::Grayscale);
        check_round_trip(&rgb([[[1, 2, 3]], [[255, 0, 255]]]), ColorType::Rgb);
    }

    #[test]
    fn a_full_disk_is_reported() {
        let mut small = [0; 20];
        let error = write(&grey([[7; 64]; 64]), &mut small[..]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WriteZero);
    }
}
