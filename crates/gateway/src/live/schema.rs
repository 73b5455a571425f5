//! The frames and closings of a connection, for `schemas/`.

use super::close::Close;
use super::frame::{ClientFrame, ServerFrame};
use serde_json::Value;

/// The JSON Schema of what clients send.
#[must_use]
pub fn client_frame_schema() -> Value {
    schemars::schema_for!(ClientFrame).to_value()
}

/// The JSON Schema of what clients get.
#[must_use]
pub fn server_frame_schema() -> Value {
    schemars::generate::SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<ServerFrame>()
        .to_value()
}

/// The codes with which the gateway closes connections, and what each says.
pub fn close_codes() -> impl Iterator<Item = (u16, &'static str)> {
    Close::ALL.into_iter().map(|close| (close.code(), close.words()))
}
