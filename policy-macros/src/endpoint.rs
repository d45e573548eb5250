//! The implementation of a route: constant data, and one call into the library. The macro
//! decides, the library does: a generic function that is compiled once costs half of a body that
//! is generated, type-checked and borrow-checked for every handler.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{LitStr, ReturnType, Signature, ext::IdentExt, spanned::Spanned};

use crate::{
    args::{
        auth::AuthArgs, cache::CacheArgs, cors::CorsArgs, csrf::CsrfArgs, headers::HeadersArgs,
        isolation::IsolationArgs, jsonp::JsonpArgs, limit::LimitArgs, route::RouteArgs,
    },
    callers::{Callers, Stated},
    check,
    collect::{Collected, Directive},
    constant,
    crate_path::CratePath,
    diag::Findings,
    facets,
    item::Function,
    signature::{Arguments, Source},
    surroundings::Surroundings,
};

/// Everything that a handler and its attributes say.
pub(crate) struct Endpoint<'a> {
    krate: CratePath,
    sig: &'a Signature,
    /// Where its attributes stand.
    places: Vec<(&'static str, Span)>,
    routes: Vec<(String, LitStr)>,
    arguments: Arguments<'a>,
    cors: Option<CorsArgs>,
    auth: Option<AuthArgs>,
    csrf: Option<CsrfArgs>,
    cache: Option<CacheArgs>,
    jsonp: Option<JsonpArgs>,
    limit: Option<LimitArgs>,
    headers: Option<HeadersArgs>,
    isolation: Option<IsolationArgs>,
}

impl<'a> Endpoint<'a> {
    pub(crate) fn read(
        collected: &mut Collected,
        function: &'a Function,
        findings: &mut Findings,
    ) -> Self {
        let sig = &function.sig;
        let places = collected.places();
        let mut routes: Vec<_> = std::mem::take(&mut collected.routes)
            .into_iter()
            .map(|taken| RouteArgs::read(taken, findings))
            .collect();
        let krate = CratePath::new(routes.iter_mut().find_map(|route| route.krate.take()));
        let paths: Vec<_> = routes.iter().filter_map(|route| route.path.clone()).collect();
        let routes = check::routes(&routes, findings);
        let arguments = Arguments::fit(sig, &paths, findings);
        let cors = collected.policy(Directive::Cors);
        let cors = cors.and_then(|taken| CorsArgs::read(taken, findings));
        if let Some(CorsArgs::Written(written)) = &cors {
            check::cors(written, findings);
        }
        let auth = match collected.policy(Directive::Auth) {
            Some(taken) => Some(AuthArgs::read(taken, findings)),
            None if collected.broken_auth => None,
            None => {
                findings.error(
                    &sig.ident,
                    "this route does not say who may call it",
                    "write `#[auth(session)]`, `#[auth(token)]` or both as `session | token`; \
                     `#[auth(public)]` for everybody",
                );
                None
            }
        };
        let csrf = collected.policy(Directive::Csrf);
        let csrf = csrf.and_then(|taken| CsrfArgs::read(taken, findings));
        let cache = collected.policy(Directive::Cache);
        let cache = cache.and_then(|taken| CacheArgs::read(taken, findings));
        let jsonp = collected.policy(Directive::Jsonp);
        let jsonp = jsonp.and_then(|taken| JsonpArgs::read(taken, findings));
        let limit = collected.policy(Directive::Limit);
        let limit = limit.and_then(|taken| LimitArgs::read(taken, findings));
        let headers = collected.policy(Directive::Headers);
        let headers = headers.and_then(|taken| HeadersArgs::read(taken, findings));
        let isolation = collected.policy(Directive::Isolation);
        let isolation = isolation.and_then(|taken| IsolationArgs::read(taken, findings));
        let endpoint = Self {
            krate,
            sig,
            places,
            routes,
            arguments,
            cors,
            auth,
            csrf,
            cache,
            jsonp,
            limit,
            headers,
            isolation,
        };
        endpoint.check(findings);
        endpoint
    }

    fn check(&self, findings: &mut Findings) {
        if let Some(callers) = self.callers() {
            callers.check(findings);
        }
        let around = self.surroundings();
        if let Some(cache) = around.cache {
            facets::cache::check(cache, &around, findings);
        }
        if let Some(jsonp) = around.jsonp {
            facets::jsonp::check(jsonp, &around, findings);
        }
        if let Some(limit) = around.limit {
            facets::limit::check(limit, &around, findings);
        }
        if let Some(headers) = around.headers {
            facets::headers::check(headers, &around, findings);
        }
    }

    /// The errors, and an implementation that is never called: nobody has to read about a
    /// missing one as well.
    pub(crate) fn placeholder(&self, errors: &TokenStream) -> TokenStream {
        let Self { krate, sig, .. } = self;
        let name = &sig.ident;
        quote! {
            use #krate::__private as __policy;
            #errors
            #[automatically_derived]
            impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for #name {
                const DESCRIPTION: __policy::Description = ::core::unreachable!();
                fn call(_: __policy::Call) -> __policy::BoxFuture {
                    ::core::unreachable!()
                }
            }
        }
    }

    pub(crate) fn implementation(&self) -> TokenStream {
        let Self { krate, sig, arguments, .. } = self;
        let name = &sig.ident;
        let (generics, via) = if arguments.extractors.is_empty() {
            (quote!(<__PolicyState>), quote!(()))
        } else {
            (quote!(<__PolicyState, __PolicyVia>), quote!(__PolicyVia))
        };
        let bounds = self.bounds();
        let Some(callers) = self.callers() else { return TokenStream::new() };
        let (checked, described) = self.policy(&callers);
        let description = self.description(&described);
        let call = self.call(&via);
        quote! {
            use #krate::__private as __policy;
            #checked
            #[automatically_derived]
            impl #generics __policy::Endpoint<__PolicyState, #via> for #name
            where
                __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
                #bounds
            {
                const DESCRIPTION: __policy::Description = #description;
                #call
            }
        }
    }

    /// One bound for each argument, at its type: there the compiler says what does not fit.
    fn bounds(&self) -> TokenStream {
        let arguments = &self.arguments;
        let parameters = arguments
            .parameters
            .iter()
            .map(|ty| quote_spanned!(ty.span()=> #ty: __policy::FromParam,));
        let last = arguments.extractors.len().saturating_sub(1);
        let extractors = arguments.extractors.iter().enumerate().map(|(position, ty)| {
            if position == last {
                quote_spanned! {ty.span()=>
                    #ty: __policy::Extract<__PolicyState, __PolicyVia>,
                }
            } else {
                quote_spanned!(ty.span()=> #ty: __policy::ExtractParts<__PolicyState>,)
            }
        });
        parameters.chain(extractors).collect()
    }

    fn callers(&self) -> Option<Callers<'_>> {
        let Self { arguments, cors, auth, csrf, .. } = self;
        Some(Callers {
            auth: auth.as_ref()?,
            csrf: csrf.as_ref(),
            cors: cors.as_ref(),
            principal: arguments.principal(),
            takes_session: arguments.take_session(),
        })
    }

    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            handler: &self.sig.ident,
            routes: &self.routes,
            cors: self.cors.as_ref(),
            auth: self.auth.as_ref(),
            csrf: self.csrf.as_ref(),
            cache: self.cache.as_ref(),
            jsonp: self.jsonp.as_ref(),
            limit: self.limit.as_ref(),
            headers: self.headers.as_ref(),
            takes_session: self.arguments.take_session(),
        }
    }

    fn description(&self, policy: &TokenStream) -> TokenStream {
        let Self { sig, places, routes, arguments, .. } = self;
        let places =
            places.iter().map(|(name, span)| quote_spanned!(*span=> (#name, ::core::line!())));
        let routes = routes.iter().map(|(method, path)| quote!((#method, #path)));
        let (extracts, takes_session) =
            (!arguments.extractors.is_empty(), arguments.take_session());
        let handler = format!("::{}", sig.ident.unraw());
        // Spanned at the handler, whose place they tell.
        let (file, line) = (
            quote_spanned!(sig.ident.span()=> ::core::file!()),
            quote_spanned!(sig.ident.span()=> ::core::line!()),
        );
        quote! {
            __policy::Description {
                routes: &[#(#routes),*],
                #policy
                extracts: #extracts,
                takes_session: #takes_session,
                handler: ::core::concat!(::core::module_path!(), #handler),
                file: #file,
                line: #line,
                attributes: &[#(#places),*],
            }
        }
    }

    /// The one call: the library takes the request apart, the handler gets its values. It is
    /// spanned at the return type, so that a response that is none, and a future that cannot
    /// move between threads, are reported in the signature.
    fn call(&self, via: &TokenStream) -> TokenStream {
        let Self { sig, arguments, .. } = self;
        let span = match &sig.output {
            ReturnType::Type(_, ty) => ty.span(),
            ReturnType::Default => sig.ident.span(),
        };
        let local = |prefix: &str, position: usize| {
            format_ident!("__policy_{prefix}{position}", span = Span::mixed_site())
        };
        let parameter = |position| local("parameter", position);
        let extractor = |position| local("argument", position);
        let parameters = (0..arguments.parameters.len()).map(parameter);
        let extractors = (0..arguments.extractors.len()).map(extractor);
        let values = arguments.order.iter().map(|source| match *source {
            Source::Parameter(position) => parameter(position),
            Source::Extractor(position) => extractor(position),
        });
        let (parameter_types, extractor_types) = (&arguments.parameters, &arguments.extractors);
        let name = &sig.ident;
        let request = Ident::new("__policy_call", Span::mixed_site());
        let handler = quote_spanned! {span=>
            |(#(#parameters,)*), (#(#extractors,)*)| #name(#(#values),*)
        };
        let invoke = quote_spanned! {span.resolved_at(Span::mixed_site())=>
            __policy::invoke::<
                __PolicyState, #via, (#(#parameter_types,)*), (#(#extractor_types,)*), _, _
            >(#request, #handler)
        };
        quote! {
            fn call(#request: __policy::Call) -> __policy::BoxFuture {
                #invoke
            }
        }
    }

    /// The items that the policy needs, and the fields of the description that state it.
    fn policy(&self, callers: &Callers<'_>) -> (TokenStream, TokenStream) {
        let handler = self.sig.ident.unraw();
        let name = format_ident!("cors_policy_of_{handler}", span = Span::call_site());
        let facet = quote!(__policy::policy_core::route::Facet);
        let (items, cors) = match &self.cors {
            None => (quote!(), quote!(#facet::Inherit)),
            Some(CorsArgs::Nobody) => (quote!(), quote!(#facet::None)),
            Some(CorsArgs::Shared(expr)) => constant::shared(expr, &name),
            Some(CorsArgs::Written(written)) => constant::written(written, &name),
        };
        let Stated { items: more_items, auth, csrf, scheme } = callers.stated(&handler);
        let around = self.surroundings();
        let stated = [
            ("cache", around.cache.map(|args| facets::cache::stated(args, &around))),
            ("jsonp", around.jsonp.map(|args| facets::jsonp::stated(args, &around))),
            ("limits", around.limit.map(|args| facets::limit::stated(args, &around))),
            ("headers", around.headers.map(|args| facets::headers::stated(args, &around))),
            ("isolation", self.isolation.map(|args| (quote!(), facets::isolation::stated(args)))),
        ];
        let (mut items, mut facets) = (quote!(#items #more_items), TokenStream::new());
        for (field, stated) in stated {
            let Some((more_items, value)) = stated else { continue };
            let field = format_ident!("{field}");
            items.extend(more_items);
            facets.extend(quote!(#field: #value,));
        }
        let policy = quote!(__policy::policy_core::route::RoutePolicy);
        let described = quote! {
            policy: #policy { cors: #cors, auth: #auth, csrf: #csrf, #facets ..#policy::PUBLIC },
            scheme: #scheme,
        };
        (items, described)
    }
}
