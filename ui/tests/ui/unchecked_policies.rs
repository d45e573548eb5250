//! A policy exists only once its rules were asked: there is no way around the constructors.

use policy_core::{
    cache::{CachePolicy, CacheSpec},
    cors::{CorsPolicy, CorsSpec, Origins},
    headers::{HeadersPolicy, HeadersSpec},
    jsonp::{JsonpPolicy, JsonpSpec},
};

const OPEN: CorsSpec<'static> =
    CorsSpec { credentials: true, ..CorsSpec::new(Origins::Listed(&["*"])) };

const CORS: CorsPolicy = CorsPolicy(OPEN);
const CACHE: CachePolicy = CachePolicy(CacheSpec::NOTHING);
const HEADERS: HeadersPolicy = HeadersPolicy(HeadersSpec::NOTHING);
const JSONP: JsonpPolicy = JsonpPolicy(JsonpSpec::NOTHING);
const CONVERTED: CorsPolicy = OPEN;
const BUILT: CorsPolicy = CorsPolicy::origins(&["*"]).credentials().build();

fn main() {}
