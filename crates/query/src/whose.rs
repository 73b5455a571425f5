use readmark_domain::id::Uid;
use readmark_http::{Kind, Problem, Viewer};

/// Whose state is asked for: the caller's own, or with scope service that of the user named.
pub(crate) fn whose(viewer: Viewer, named: Option<&str>) -> Result<Uid, Problem> {
    let named = named.map(|text| text.parse().map_err(|_| Problem::malformed_field("uid", "uid is no uid")));
    match (viewer, named.transpose()?) {
        (Viewer::Service, Some(uid)) | (Viewer::User(uid), None) => Ok(uid),
        (Viewer::Service, None) => {
            Err(Problem::malformed_field("uid", "with scope service, uid says whose state is asked for"))
        }
        (Viewer::User(uid), Some(named)) if named == uid => Ok(uid),
        (Viewer::User(_), Some(_)) => Err(Problem::new(Kind::Forbidden, "a user sees its own state only")),
    }
}
