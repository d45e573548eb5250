//! The implementation of a route: data, and one call into the library. A generic function that is
//! compiled once costs half as much as a body that is generated, type-checked and borrow-checked
//! for every handler.

use policy_core::Rule;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{LitStr, Path, ReturnType, Signature, ext::IdentExt, spanned::Spanned};

use crate::{
    attributes::context::Context,
    attributes::{
        Attributes,
        route::{self, HandlerRoute},
    },
    checks,
    collect::CollectedAttributes,
    diagnostics::Diagnostics,
    emit::{CratePath, Expansion, description, option},
    item::Function,
    signature::{Arguments, Extractor, Parameter, Source},
    type_names::{KnownExtractor, members},
};

/// A handler with its parsed attributes.
pub(crate) struct Endpoint<'a> {
    krate: CratePath,
    sig: &'a Signature,
    /// The spans of its attributes.
    spans: Vec<(&'static str, Span)>,
    routes: Vec<HandlerRoute>,
    /// The lines of its documentation.
    docs: Vec<LitStr>,
    arguments: Arguments<'a>,
    attributes: Attributes,
}

impl<'a> Endpoint<'a> {
    pub(crate) fn read(
        collected: &mut CollectedAttributes,
        function: &'a Function,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let sig = &function.sig;
        let spans = collected.spans();
        let mut routes: Vec<_> = std::mem::take(&mut collected.routes)
            .into_iter()
            .map(|parsed| route::Args::read(parsed, diagnostics))
            .collect();
        let mut crates = routes.iter_mut().filter_map(|route| route.krate.take());
        let krate = crates.next();
        let text = |path: &Path| path.to_token_stream().to_string();
        let first = krate.as_ref().map(text);
        for other in crates.filter(|other| first != Some(text(other))) {
            diagnostics.rule(other, Rule::ArgumentRepeated, "crate");
        }
        let krate = CratePath::new(krate);
        let paths: Vec<_> = routes.iter().filter_map(|route| route.path.clone()).collect();
        let routes = route::routes(&routes, diagnostics);
        let arguments = Arguments::fit(sig, &paths, diagnostics);
        let attributes = Attributes::read(collected, diagnostics);
        if attributes.auth.is_none() && !collected.broken_auth {
            diagnostics.rule(&sig.ident, Rule::CallersMissing, "");
        }
        let docs = collected.docs();
        let endpoint = Self { krate, sig, spans, routes, docs, arguments, attributes };
        let methods = endpoint.context().methods;
        let only_gets = methods.iter().all(|method| matches!(*method, "GET" | "HEAD"));
        // After an error, the argument may be a misspelt parameter of the path.
        let is_clean = diagnostics.error_count() == 0;
        if let Some(ty) = endpoint.arguments.body().filter(|_| only_gets && is_clean) {
            diagnostics.rule(ty, Rule::BodyOfGet, "");
        }
        endpoint.check_objects(diagnostics);
        endpoint.attributes.check(&endpoint.context(), diagnostics);
        endpoint
    }

    /// Adds its routes to a manifest and says where their policies are written. Returns the values
    /// that are no literals.
    #[cfg(feature = "manifest")]
    pub(crate) fn declare(
        &self,
        manifest: &mut policy_manifest::Manifest,
        sources: &mut policy_manifest::Sources,
    ) -> Vec<TokenStream> {
        use policy_core::{headers::HeadersPolicy, route::Level};
        use policy_manifest::{
            Auth, FacetSource, ManifestRoute, SourceLine, facet::FromPolicy as _,
        };

        let context = self.context();
        let mut policy = ManifestRoute::handler("", [] as [&str; 0], Auth::Public);
        policy.takes_session = context.takes_session;
        policy.headers = Some(String::from_policy(&HeadersPolicy::DEFAULT, manifest));
        let unseen = self.attributes.declare(&context, &mut policy, manifest);
        let line_of = |span: Span| u32::try_from(span.start().line).unwrap_or(u32::MAX);
        let decided = self.spans.iter().map(|(name, span)| {
            let facet = if *name == "limit" { "limits" } else { name };
            let (level, file) = (Level::Route, String::new());
            (facet.to_owned(), FacetSource { level, file, line: line_of(*span) })
        });
        let decided: std::collections::BTreeMap<_, _> = decided.collect();
        for HandlerRoute { method, path, .. } in &self.routes {
            let key = format!("{method} {}", path.value());
            let place = SourceLine { file: String::new(), line: line_of(self.sig.ident.span()) };
            sources.handlers.insert(key.clone(), self.sig.ident.unraw().to_string());
            sources.places.insert(key.clone(), place);
            sources.decided.insert(key, decided.clone());
            let mut route = policy.clone();
            (route.path, route.methods) = (path.value(), vec![method.clone()]);
            manifest.routes.push(route);
        }
        unseen
    }

    /// Refuses a parameter that nothing checks.
    fn check_objects(&self, diagnostics: &mut Diagnostics) {
        let context = self.context();
        let is_clean = diagnostics.error_count() == 0;
        if let Some(ty) = context.plain.filter(|_| is_clean && context.may_know_caller())
            && self.attributes.object.as_ref().is_none_or(|object| object.none.is_none())
        {
            diagnostics.rule(ty, Rule::ObjectUnchecked, "");
        }
    }

    fn context(&self) -> Context<'_> {
        let mut methods = Vec::new();
        for HandlerRoute { method, .. } in &self.routes {
            if !methods.contains(&method.as_str()) {
                methods.push(method);
            }
        }
        Context {
            handler: &self.sig.ident,
            methods,
            attributes: &self.attributes,
            principal: self.arguments.principal,
            user: self.arguments.user,
            takes_session: self.arguments.takes_session,
            plain: self.arguments.plain(),
            takes_fields: self.arguments.takes_fields(),
            takes_objects: self.arguments.takes_objects(),
        }
    }

    /// The errors, and an implementation that is never called, so that the compiler does not also
    /// report a missing one.
    pub(crate) fn placeholder(&self, errors: &TokenStream) -> TokenStream {
        let Self { krate, sig, .. } = self;
        let name = &sig.ident;
        quote! {
            use #krate::codegen as __policy;
            #errors
            #[automatically_derived]
            impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for #name {
                fn declare(_: &mut __policy::Description) {}
                fn describe(_: &mut __policy::Signature) {}
                fn call(_: &mut __policy::Call) -> __policy::BoxFuture {
                    ::core::unreachable!()
                }
            }
        }
    }

    pub(crate) fn implementation(&self) -> TokenStream {
        let Self { krate, sig, arguments, .. } = self;
        let name = &sig.ident;
        let last = arguments.extractors.last().map(|extractor| extractor.known);
        let (generics, via) = match last {
            Some(None) => (quote!(<__PolicyState, __PolicyVia>), quote!(__PolicyVia)),
            _ => (quote!(<__PolicyState>), quote!(())),
        };
        let way = match last {
            None => quote!(()),
            Some(None) => quote!(__policy::Inferred<__PolicyVia>),
            Some(Some(KnownExtractor::Body)) => quote!(__policy::FromBody),
            Some(Some(KnownExtractor::Head | KnownExtractor::State(_))) => {
                quote!(__policy::Inferred<_>)
            }
        };
        let bounds = self.bounds();
        let expansion = self.attributes.emit(&self.context());
        let (items, declare) = (&expansion.items, self.declarations(&expansion));
        let (layer, describe) = (&expansion.layer, self.describe());
        let call = self.call(&way);
        quote! {
            use #krate::codegen as __policy;
            #items
            #[automatically_derived]
            impl #generics __policy::Endpoint<__PolicyState, #via> for #name
            where
                __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
                #bounds
            {
                #declare
                #layer
                #describe
                #call
            }
        }
    }

    /// One bound for each argument that may depend on the state of the app. The compiler checks it
    /// where the state is known, in the list of routes, and names the argument. An argument that
    /// does not depend on the state has no bound: it is checked here, and reported at the handler.
    ///
    /// An object has a bound, too, although it does not depend on the state: where the bound does
    /// not hold, the compiler reports that once, and assumes it in the rest of the implementation.
    fn bounds(&self) -> TokenStream {
        let arguments = &self.arguments;
        let objects = arguments.parameters.iter().filter(|it| it.is_object).map(|it| {
            let (ty, object) = (it.ty, it.object());
            quote_spanned! {ty.span()=>
                #ty: #object,
                <#ty as #object>::Source: __policy::StatePart<__PolicyState>,
            }
        });
        let last = arguments.extractors.len().saturating_sub(1);
        let bound = |(position, Extractor { ty, known }): (usize, &Extractor<'_>)| match known {
            Some(KnownExtractor::Body | KnownExtractor::Head) => TokenStream::new(),
            Some(KnownExtractor::State(part)) => {
                quote_spanned!(part.span()=> #part: __policy::StatePart<__PolicyState>,)
            }
            None if position == last => {
                quote_spanned!(ty.span()=> #ty: __policy::Extract<__PolicyState, __PolicyVia>,)
            }
            None => quote_spanned!(ty.span()=> #ty: __policy::ExtractParts<__PolicyState>,),
        };
        objects.chain(arguments.extractors.iter().enumerate().map(bound)).collect()
    }

    fn declarations(&self, expansion: &Expansion) -> TokenStream {
        let Self { sig, spans, routes, arguments, .. } = self;
        let declarations = &expansion.declarations;
        let attributes =
            spans.iter().map(|(name, span)| quote_spanned!(*span=> (#name, ::core::line!())));
        let methods = routes.iter().map(|route| &route.method);
        let paths = routes.iter().map(|route| &route.path);
        let takes_objects = arguments.takes_objects();
        let facts = [
            ("extracts", takes_objects || !arguments.extractors.is_empty()),
            ("takes_objects", takes_objects),
            ("takes_session", arguments.takes_session),
            ("takes_user", arguments.user.is_some()),
        ];
        let facts = facts.iter().filter(|(_, is_true)| *is_true);
        let facts = facts.map(|(fact, _)| Ident::new(fact, Span::call_site()));
        let handler = format!("::{}", sig.ident.unraw());
        // Spanned at the handler, so that they give its location.
        let (file, line) = (
            quote_spanned!(sig.ident.span()=> ::core::file!()),
            quote_spanned!(sig.ident.span()=> ::core::line!()),
        );
        let description = description();
        quote! {
            fn declare(#description: &mut __policy::Description) {
                #description.routes = &[#((#methods, #paths)),*];
                #declarations
                #(#description.#facts = true;)*
                #description.handler = ::core::concat!(::core::module_path!(), #handler);
                #description.file = #file;
                #description.line = #line;
                #description.attributes = &[#(#attributes),*];
            }
        }
    }

    /// The types of the signature, as calls that the compiler resolves by what it knows of them:
    /// see `policy-server/src/handler/describe/mod.rs`.
    fn describe(&self) -> TokenStream {
        let Self { sig, routes, arguments, docs, .. } = self;
        let signature = Ident::new("__policy_signature", Span::mixed_site());
        let (names, parameters): (Vec<_>, Vec<_>) =
            arguments.parameters.iter().map(|it| (&it.name, it.text_type())).unzip();
        let objects: Vec<_> = arguments.parameters.iter().filter(|it| it.is_object).collect();
        let object_names = objects.iter().map(|object| &object.name);
        let previous = objects.iter().map(|object| object.previous());
        let objects = objects.iter().map(|object| object.ty);
        // One by one, so that an unknown member of a tuple hides nothing of the others.
        let extractors = arguments.extractors.iter().flat_map(|extractor| members(extractor.ty));
        let output = checks::described_output(&sig.output);
        let answer = match &output {
            Some(ty) => quote!(__policy::Of::<#ty>::NEW.describe_answer(#signature);),
            None => quote!(#signature.opaque();),
        };
        let has_ids = routes.iter().any(|route| route.id.is_some());
        let document = (has_ids || !docs.is_empty()).then(|| {
            let ids = routes.iter().map(|route| option(route.id.as_ref()));
            quote!(#signature.document(&[#(#docs),*], &[#(#ids),*]);)
        });
        quote! {
            fn describe(#signature: &mut __policy::Signature) {
                #[allow(unused_imports)]
                use __policy::describing::*;
                #(__policy::Of::<#parameters>::NEW.describe_parameter(#signature, #names);)*
                #(#signature.object::<#objects, #previous>(#object_names);)*
                #(__policy::Of::<#extractors>::NEW.describe_argument(#signature);)*
                #answer
                #document
            }
        }
    }

    /// The function that puts objects in the place of their keys, if the path names any: each is loaded
    /// under the one before it.
    fn check(&self, parameter: &impl Fn(usize) -> Ident) -> Option<TokenStream> {
        let parameters = &self.arguments.parameters;
        parameters.iter().find(|it| it.is_object)?;
        let gate = Ident::new("__policy_gate", Span::mixed_site());
        let names: Vec<_> = (0..parameters.len()).map(parameter).collect();
        let mut previous = quote!(&());
        let mut statements = TokenStream::new();
        let objects = parameters.iter().zip(&names).filter(|(parameter, _)| parameter.is_object);
        for (parameter, name) in objects {
            let (ty, under) = (parameter.ty, parameter.previous());
            statements.extend(quote_spanned! {ty.span()=>
                let #name = #gate.object::<#ty, #under>(#name, #previous).await?;
            });
            previous = quote!(&#name);
        }
        Some(quote! {
            |(#(#names,)*), mut #gate: __policy::ObjectGate<__PolicyState>| async move {
                #statements
                ::core::result::Result::Ok(((#(#names,)*), #gate))
            },
        })
    }

    /// The one call: the library extracts the arguments and calls the handler. It is spanned at the
    /// return type, so that an invalid response type, or a future that is not `Send`, is reported
    /// in the signature.
    fn call(&self, via: &TokenStream) -> TokenStream {
        let Self { sig, arguments, .. } = self;
        let span = match &sig.output {
            ReturnType::Type(_, ty) => ty.span(),
            ReturnType::Default => sig.ident.span(),
        };
        let local_at = |name: &str, span: Span| {
            format_ident!("__policy_{name}", span = span.resolved_at(Span::mixed_site()))
        };
        let local = |prefix: &str, position: usize| {
            local_at(&format!("{prefix}{position}"), Span::mixed_site())
        };
        let parameter = |position| local("parameter", position);
        let extractor = |position| local("argument", position);
        let parameters = (0..arguments.parameters.len()).map(parameter);
        let extractors = (0..arguments.extractors.len()).map(extractor);
        let values = arguments.order.iter().map(|source| match *source {
            Source::Parameter(position) => parameter(position),
            Source::Extractor(position) => extractor(position),
        });
        let parameter_types = arguments.parameters.iter().map(Parameter::text_type);
        let extractor_types = arguments.extractors.iter().map(checks::ExtractorType);
        let checks = checks::statements(arguments, &sig.output);
        let name = &sig.ident;
        let request = Ident::new("__policy_call", Span::mixed_site());
        let mut output = checks::output(&sig.output);
        let mut future = quote_spanned!(span=> #name(#(#values),*));
        if let Some((of_value, of_error)) = checks::fallible(&sig.output) {
            let value = local_at("value", of_value.span());
            let error = local_at("error", of_error.span());
            let good = quote_spanned!(of_value.span()=> __policy::respond(#value));
            let bad = quote_spanned!(of_error.span()=> __policy::Returned(#error).respond());
            output = quote!(__policy::Response);
            future = quote_spanned! {span=> async move {
                #[allow(unused_imports)]
                use __policy::RespondWithProblem as _;
                match #future.await {
                    ::core::result::Result::Ok(#value) => #good,
                    ::core::result::Result::Err(#error) => #bad,
                }
            }};
        }
        let handler = quote_spanned!(span=> |(#(#parameters,)*), (#(#extractors,)*)| #future);
        let (function, check, inferred) = match self.check(&parameter) {
            None => (quote!(invoke), None, None),
            Some(check) => (quote!(invoke_with_objects), Some(check), Some(quote!(_, _, _,))),
        };
        let invoke = quote_spanned! {span.resolved_at(Span::mixed_site())=>
            __policy::#function::<
                __PolicyState, #via, (#(#parameter_types,)*), (#(#extractor_types,)*), #output,
                #inferred _, _
            >(#request, #check #handler)
        };
        quote! {
            #[allow(clippy::type_complexity)]
            fn call(#request: &mut __policy::Call) -> __policy::BoxFuture {
                #checks
                #invoke
            }
        }
    }
}
