//! OpenAPI 3.1 out of the roles' pieces.

use crate::problem::ProblemBody;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{
    Components, ContentBuilder, Info, OpenApi, OpenApiBuilder, RefOr, Response, ResponseBuilder, Schema,
};

/// The schema of a type, whose ids describe themselves; every type is spelled out where it is used.
///
/// # Panics
/// Never for a type whose schema is an object or a list, which a test of every call shows.
#[must_use]
pub fn schema_of<T: JsonSchema>() -> RefOr<Schema> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    serde_json::from_value(schema.to_value()).unwrap_or_else(|_| RefOr::T(Schema::default()))
}

/// Joins the pieces, with what every call shares: the token and the problems.
#[must_use]
pub fn openapi(pieces: impl IntoIterator<Item = OpenApi>) -> OpenApi {
    let info = Info::builder()
        .title("readmark")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Read receipts, read watermarks and unread counts. Numbers of 64 bits are decimal strings."))
        .build();
    let mut components = Components::new();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    components.schemas.insert("Problem".to_owned(), schema_of::<ProblemBody>());
    components.responses.insert("Problem".to_owned(), RefOr::T(problem()));
    let base = OpenApiBuilder::new().info(info).components(Some(components)).build();
    pieces.into_iter().fold(base, OpenApi::merge_from)
}

fn problem() -> Response {
    let schema = RefOr::Ref(utoipa::openapi::Ref::from_schema_name("Problem"));
    ResponseBuilder::new()
        .description("What went wrong, as RFC 9457 says; 429 and 503 with Retry-After.")
        .content("application/problem+json", ContentBuilder::new().schema(Some(schema)).build())
        .build()
}
