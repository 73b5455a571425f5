//! A message as the frames that bear it.

use super::limits::FRAME_BYTES_MAX;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Bytes, Message, Utf8Bytes};

/// A text as one message: in one frame, or in as many as it needs (RFC 6455, 5.4), which clients put together again.
pub(super) fn pieces(text: String) -> Vec<Message> {
    let text = Utf8Bytes::from(text);
    if text.len() <= FRAME_BYTES_MAX {
        return vec![Message::Text(text)];
    }
    let bytes = Bytes::from(text.clone());
    let (mut pieces, mut left, mut kind) = (Vec::new(), text.as_str(), Data::Text);
    while !left.is_empty() {
        // No frame ends within a character, though it may: not every client is ready for that.
        let (piece, rest) = left.split_at(left.floor_char_boundary(FRAME_BYTES_MAX));
        let frame = Frame::message(bytes.slice_ref(piece.as_bytes()), OpCode::Data(kind), rest.is_empty());
        pieces.push(Message::Frame(frame));
        (left, kind) = (rest, Data::Continue);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_one_message() {
        for text in ["", "x", &"x".repeat(FRAME_BYTES_MAX)] {
            assert_eq!(pieces(text.to_owned()), [Message::text(text)]);
        }
    }

    #[test]
    fn a_long_text_is_one_message_of_several_frames() {
        for text in ["x".repeat(FRAME_BYTES_MAX + 1), "€".repeat(FRAME_BYTES_MAX)] {
            let pieces = pieces(text.clone());
            let count = text.len().div_ceil(FRAME_BYTES_MAX);
            assert!(pieces.len() == count || pieces.len() == count + 1, "{}", pieces.len());
            let mut put_together = String::new();
            for (at, piece) in pieces.iter().enumerate() {
                let Message::Frame(frame) = piece else { panic!("{piece:?} is no frame") };
                let kind = if at == 0 { Data::Text } else { Data::Continue };
                assert_eq!(frame.header().opcode, OpCode::Data(kind));
                assert_eq!(frame.header().is_final, at + 1 == pieces.len());
                assert!(frame.len() <= 64 * 1024, "{}, with its header", frame.len());
                put_together.push_str(std::str::from_utf8(frame.payload()).expect("whole characters"));
            }
            assert!(put_together == text);
        }
    }
}
