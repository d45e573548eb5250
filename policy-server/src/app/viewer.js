"use strict";
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#document",
  deepLinking: true,
  // It would ask a server of others to judge the document.
  validatorUrl: null,
});
