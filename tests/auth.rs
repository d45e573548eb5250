//! Sessions, tokens and anti-forgery, over the whole server.
mod auth {
    mod smoke;
}
