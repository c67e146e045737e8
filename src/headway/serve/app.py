"""The HTTP application: paths, their descriptions, and error handlers.

FastAPI is an extra, so it is imported where the application is made. Requests are answered by
`service`; tokens and limits are in `middleware`.
"""

from asyncio import to_thread
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import own_version
from ..view.inspection import inspection_page, page_policy
from . import schema
from .allowed_hosts import AllowedHosts, browser_origin
from .batcher import BUDGET, JobDropped
from .csv_bodies import CSV_TYPE, FORECAST, CsvBodies
from .errors import (
    KNOWN,
    NO_JSON,
    STATUS,
    ProblemError,
    invalid,
    problem_of,
    shown,
    wrong_type,
)
from .limits import Limits
from .metrics import Metrics
from .middleware import GONE, App, GuardMiddleware
from .run_status import ServedRun
from .server import require_extras
from .service import Service
from .workers import WorkerPool

if TYPE_CHECKING:
    from fastapi import FastAPI

COMPUTE_PATHS = (
    *("/translate", "/translate/stream", "/score", "/predict"),
    *("/generate", "/fill", "/embed", "/forecast", "/inspect"),
)
PATHS = ("/", "/models", "/training", "/health", "/metrics", "/openapi.json", *COMPUTE_PATHS)
ERROR_DESCRIPTIONS = {
    "malformed": "The body is not JSON.",
    "unauthorized": "A token is required.",
    "slow_body": "The body did not arrive in time.",
    "too_large": "The body is too large.",
    "wrong_type": "The body is not declared as JSON.",
    "wrong_host": "The server does not answer for this host.",
    "invalid": "The request is not valid; the message says why, the field where.",
    "busy": "Too many texts are waiting; Retry-After says when to try again.",
    "timeout": "Not answered in time (timeout), shutting down (draining) or an unexpected failure "
    "(failed); Retry-After says when to try again.",
}


def make_app(
    runs: Mapping[str, ServedRun],
    pool: WorkerPool,
    limits: Limits,
    token: str | None = None,
    *,
    hosts: AllowedHosts | None = None,
    origins: Sequence[str] = (),
    budget: int = BUDGET,
) -> tuple[App, Service]:
    """The application, and the service that answers its requests.

    Args:
        runs: by the name of the model; a `ServedRun` that is not a `RequestValidator` shows its
            training log only.
        pool: computes the batches.
        token: required everywhere but at `/` and `/health`, if there is one.
        hosts: the values of `Host` that are served; None serves all.
        origins: origins of pages whose requests browsers may allow (CORS); none by default.
        budget: tokens times hypotheses in one batch; 1 is no batching.

    Raises:
        ConfigError: an origin is none.
        MissingExtra: a package of the extra `serve` is not installed.
    """
    require_extras()
    metrics = Metrics()
    service = Service(runs, pool, limits, budget, metrics.batch)
    app = _application()
    _add_error_handlers(app, limits.seconds)
    _add_compute_routes(app, service)
    _add_info_routes(app, service, metrics)
    _add_descriptions(app)
    guard = GuardMiddleware(
        CsvBodies(app), limits, token, metrics, PATHS, hosts, lambda: service.batcher.is_draining
    )
    return (_with_cors(guard, origins) if origins else guard), service


def _with_cors(app: App, origins: Sequence[str]) -> App:
    """Answers preflight requests, which carry no token, and marks every response, refusals too."""
    from fastapi.middleware.cors import CORSMiddleware

    return CORSMiddleware(
        app,
        allow_origins=[browser_origin(origin) for origin in origins],
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type"],
        expose_headers=["retry-after"],
    )


def _application() -> "FastAPI":
    from fastapi import FastAPI

    # The library's own documentation pages load scripts from other servers.
    return FastAPI(
        title="headway",
        version=own_version(),
        description="Trained headway models over HTTP. Every error has the same shape.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )


def _add_error_handlers(app: "FastAPI", seconds: float) -> None:
    """Gives every error the same shape, those of the library included."""
    from fastapi import Request, Response
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException

    def response(problem: ProblemError) -> Response:
        return Response(problem.body, problem.status, problem.headers)

    async def known(_: Request, error: Exception) -> Response:
        return response(problem_of(error, seconds))

    async def not_valid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        if isinstance(error.body, bytes):  # the library did not read it as JSON
            takes_csv = request.url.path == FORECAST
            return response(wrong_type(request.headers.get("content-type"), takes_csv))
        return response(invalid(error.errors()))

    async def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 404:
            return response(ProblemError("not_found", f"there is nothing at this path; {_paths()}"))
        if error.status_code == 405:
            problem = ProblemError("wrong_method", f"{shown(request.method)} is not allowed here")
            problem.headers |= {k.lower(): v for k, v in (error.headers or {}).items()}
            return response(problem)
        return response(ProblemError("malformed", NO_JSON))

    async def dropped(_: Request, error: Exception) -> Response:
        return Response(status_code=GONE)  # nobody reads it

    app.add_exception_handler(RequestValidationError, not_valid)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(JobDropped, dropped)
    for error_type in (Exception, *KNOWN):
        app.add_exception_handler(error_type, known)


def _add_descriptions(app: "FastAPI") -> None:
    """Completes the OpenAPI description when it is first asked for."""
    make = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            responses = [getattr(route, "response_model", None) for route in app.routes]
            schema.add_descriptions(make()["components"]["schemas"], responses)
        return make()

    app.openapi = described  # type: ignore[method-assign]


def _paths() -> str:
    return f"expected one of {', '.join(PATHS)}"


def _problems(*codes: str) -> dict[int | str, dict[str, Any]]:
    """Descriptions of errors for the schema."""
    return {
        STATUS[code]: {"model": schema.ProblemBody, "description": ERROR_DESCRIPTIONS[code]}
        for code in codes
    }


def _add_compute_routes(app: "FastAPI", service: Service) -> None:
    """The paths that compute."""
    from fastapi import Request, Response
    from fastapi.responses import StreamingResponse

    json = "application/json"
    common: Any = {"responses": _problems(*ERROR_DESCRIPTIONS), "tags": ["ask"]}

    @app.post("/translate", response_model=schema.Translations, **common)
    async def translate(body: schema.TranslateRequest, request: Request) -> Response:
        """Translates texts; answers when all are done."""
        return Response(await service.answer(body, request.receive), media_type=json)

    stream: Any = {"content": {"text/event-stream": {}}, "description": "Server-sent events."}

    @app.post(
        "/translate/stream",
        response_class=Response,
        responses={**_problems(*ERROR_DESCRIPTIONS), 200: stream},
        tags=["ask"],
    )
    async def translate_stream(body: schema.TranslateRequest, request: Request) -> Response:
        """Translates texts and sends each as it finishes, as server-sent events.

        `result` has `number` (the index of the text, from 0) and `result`; `error` has `number` and
        `error`; `done`, the last one, has the counts `texts` and `failed`.
        """
        valid, job = await service.submit(body)
        events = service.events(valid, job, request.receive)
        # Proxies should forward events at once.
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(events, headers=headers, media_type="text/event-stream")

    @app.post("/score", response_model=schema.Scores, **common)
    async def score(body: schema.ScoreRequest, request: Request) -> Response:
        """Log probabilities of translations, or of texts under a language model."""
        return Response(await service.answer(body, request.receive), media_type=json)

    @app.post("/predict", response_model=schema.predictions(), **common)
    async def predict(body: schema.PredictRequest, request: Request) -> Response:
        """Predicts labels, tags, answers or values, depending on the model's task."""
        return Response(await service.answer(body, request.receive), media_type=json)

    @app.post("/generate", response_model=schema.Generations, **common)
    async def generate(body: schema.GenerateRequest, request: Request) -> Response:
        """Continues prompts with a language model."""
        return Response(await service.answer(body, request.receive), media_type=json)

    @app.post("/fill", response_model=schema.Fillings, **common)
    async def fill(body: schema.FillRequest, request: Request) -> Response:
        """The likeliest tokens for each `[MASK]`."""
        return Response(await service.answer(body, request.receive), media_type=json)

    @app.post("/embed", response_model=schema.Embeddings, **common)
    async def embed(body: schema.EmbedRequest, request: Request) -> Response:
        """Vectors of texts."""
        return Response(await service.answer(body, request.receive), media_type=json)

    csv_body = {"schema": {"type": "string"}, "example": "date,sales\n2024-01-31,12.5\n"}

    @app.post(
        FORECAST,
        response_model=schema.SeriesForecasts,
        openapi_extra={"requestBody": {"content": {CSV_TYPE: csv_body}}},
        **common,
    )
    async def forecast(body: schema.ForecastRequest, request: Request) -> Response:
        """Forecasts series, sent as JSON or as a CSV file; the result of `headway forecast --json`.

        With a CSV file, `model` and `horizon` are parameters of the address.
        """
        return Response(await service.answer(body, request.receive), media_type=json)

    @app.post("/inspect", response_model=schema.InspectionResponse, **common)
    async def inspect(body: schema.InspectRequest, request: Request) -> Response:
        """Outputs, search trace and attention of a model for one text or series."""
        return Response(await service.inspect(body, request.receive), media_type=json)


def _add_info_routes(app: "FastAPI", service: Service, metrics: Metrics) -> None:
    """The paths that describe the server and its models."""
    from fastapi import Response
    from fastapi.responses import HTMLResponse, JSONResponse

    closed = _problems("unauthorized", "wrong_host")
    # The page is the same for everybody; it fetches what it shows, with a token if one is required.
    # Framing can only be forbidden in a header.
    content = inspection_page(None, live=True)
    headers = {"content-security-policy": f"{page_policy(live=True)}; frame-ancestors 'none'"}

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def page() -> Response:
        return HTMLResponse(content, headers=headers)

    @app.get("/models", response_model=schema.Models, responses=closed, tags=["look"])
    async def models() -> Response:
        """The served models, and the limits of a request."""
        # An example may have to be read from the data of a run.
        return JSONResponse(await to_thread(service.models))

    @app.get(
        "/training",
        response_model=schema.Training,
        responses=_problems("unauthorized", "wrong_host", "invalid", "timeout"),
        tags=["look"],
    )
    async def training(model: schema.Model = None) -> Response:
        """The current training log of a run, finished or not."""
        return JSONResponse(await service.training(model))

    @app.get(
        "/health",
        response_model=schema.Health,
        responses={503: {"model": schema.Health, "description": "Shutting down."}},
        tags=["look"],
    )
    async def health() -> Response:
        """Whether the server accepts requests. Needs no token."""
        if service.batcher.is_draining:
            return JSONResponse({"status": "draining"}, 503, {"retry-after": "1"})
        return JSONResponse({"status": "ready"})

    plain_text: Any = {
        "content": {"text/plain": {}},
        "description": "Metrics in the text format of Prometheus.",
    }

    @app.get(
        "/metrics", responses={**closed, 200: plain_text}, response_class=Response, tags=["look"]
    )
    async def figures() -> Response:
        """Metrics for Prometheus."""
        text = metrics.render(service.batcher.n_waiting, service.batcher.n_running)
        return Response(text, media_type=metrics.content_type)
