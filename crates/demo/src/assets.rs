use axum::extract::Path;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};

/// The files of the page, each with its type.
const FILES: [(&str, &str, &str); 4] = [
    ("index.html", "text/html; charset=utf-8", include_str!("../assets/index.html")),
    ("style.css", "text/css; charset=utf-8", include_str!("../assets/style.css")),
    ("demo.js", "text/javascript; charset=utf-8", include_str!("../assets/demo.js")),
    ("readmark.js", "text/javascript; charset=utf-8", include_str!("../assets/readmark.js")),
];

/// Nothing but our own files and calls: the page shows no foreign text, and would not run it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ws: wss:; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) async fn redirect() -> Redirect {
    Redirect::permanent("/demo/")
}

pub(crate) async fn page() -> Response {
    answer("index.html")
}

pub(crate) async fn file(Path(name): Path<String>) -> Response {
    answer(&name)
}

fn answer(name: &str) -> Response {
    let Some((_, kind, content)) = FILES.into_iter().find(|(file, ..)| *file == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers: [(HeaderName, HeaderValue); 4] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        // Another version of the program has another page.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, content).into_response()
}
