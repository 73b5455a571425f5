//! OpenAPI 3.1 out of the roles' pieces.

use crate::problem::ProblemBody;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
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
    let mut schema = schema.to_value();
    spell_out(&mut schema);
    serde_json::from_value(schema).unwrap_or_else(|_| RefOr::T(Schema::default()))
}

/// Says `enum` with one value in place of `const`, which the model of OpenAPI used here does not have.
fn spell_out(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(value) = fields.remove("const") {
                fields.insert("enum".to_owned(), Value::Array(vec![value]));
            }
            fields.values_mut().for_each(spell_out);
        }
        Value::Array(values) => values.iter_mut().for_each(spell_out),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Joins the pieces, with what every call shares: the token and the problems.
#[must_use]
pub fn openapi(pieces: impl IntoIterator<Item = OpenApi>) -> OpenApi {
    let info = Info::builder()
        .title("readmark")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Read receipts, read watermarks and unread counts. Numbers of 64 bits are decimal strings.",
        ))
        .build();
    let mut components = Components::new();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    components.schemas.insert("Problem".to_owned(), schema_of::<ProblemBody>());
    components.responses.insert("Problem".to_owned(), RefOr::T(problem()));
    let base = OpenApiBuilder::new().info(info).components(Some(components)).build();
    let own = <crate::operation::Piece as utoipa::OpenApi>::openapi();
    pieces.into_iter().chain([own]).fold(base, OpenApi::merge_from)
}

impl<'r> utoipa::ToResponse<'r> for ProblemBody {
    fn response() -> (&'r str, RefOr<Response>) {
        ("Problem", RefOr::T(problem()))
    }
}

fn problem() -> Response {
    let schema = RefOr::Ref(utoipa::openapi::Ref::from_schema_name("Problem"));
    ResponseBuilder::new()
        .description("What went wrong, as RFC 9457 says; 429 and 503 with Retry-After.")
        .content("application/problem+json", ContentBuilder::new().schema(Some(schema)).build())
        .build()
}

/// Describes types in OpenAPI by their JSON Schema, so that there is one description of each.
#[macro_export]
macro_rules! openapi_schemas {
    ($($schema:ty),+ $(,)?) => {$(
        impl utoipa::PartialSchema for $schema {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                $crate::schema_of::<$schema>()
            }
        }

        impl utoipa::ToSchema for $schema {
            fn name() -> std::borrow::Cow<'static, str> {
                stringify!($schema).into()
            }
        }
    )+};
}
