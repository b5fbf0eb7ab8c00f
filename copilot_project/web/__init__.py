"""What every HTTP request passes: middleware, parsers, pages, errors and the OpenAPI document."""
