"""The HTTP application: paths, their descriptions, and how errors are answered.

FastAPI and what it needs are an extra, so they are imported where the application is made. Requests
are answered by `service`; what comes before the application is in `gate`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..view.inspection import inspection_page, page_policy
from . import schema
from .batcher import BUDGET, Dropped
from .extras import require_extras
from .gate import GONE, App, Gate
from .limits import Limits
from .metrics import Metrics
from .pool import Place
from .problems import KNOWN, NO_JSON, STATUS, ProblemError, invalid, problem_of
from .service import Service
from .watch import Watch

if TYPE_CHECKING:
    from fastapi import FastAPI

ASKING = (
    *("/translate", "/translate/stream", "/score", "/predict"),
    *("/generate", "/fill", "/embed", "/inspect"),
)
PATHS = ("/", "/models", "/training", "/health", "/metrics", "/openapi.json", *ASKING)
ABOUT = {
    "malformed": "The body is no JSON.",
    "unauthorized": "A token is needed.",
    "slow_body": "The body did not come in time.",
    "too_large": "The body is too large.",
    "invalid": "Something cannot be done; the message says what, the field where.",
    "busy": "Too many texts wait; Retry-After says when to come again.",
    "timeout": "Not answered in time (timeout), about to stop (draining) or gone wrong (failed); "
    "Retry-After says when to come again.",
}


def make_app(
    desks: Mapping[str, Watch],
    place: Place,
    limits: Limits,
    token: str | None = None,
    *,
    origins: Sequence[str] = (),
    budget: int = BUDGET,
) -> tuple[App, Service]:
    """The application, and the service that it puts requests to.

    Args:
        desks: by the name of the model; a `Watch` that is no `Desk` shows its training alone.
        place: where batches are computed.
        token: asked for everywhere but at `/` and `/health`, if given.
        origins: of pages that browsers may let ask (CORS); none by default.
        budget: tokens times hypotheses in one batch; 1 is no batching.

    Raises:
        MissingExtra: a package of the extra `serve` is not installed.
    """
    require_extras()
    metrics = Metrics()
    service = Service(desks, place, limits, budget, metrics.batch)
    app = _application()
    _add_problems(app, limits.seconds)
    _add_asking(app, service)
    _add_looking(app, service, metrics)
    if origins:
        from fastapi.middleware.cors import CORSMiddleware

        headers = ["authorization", "content-type"]
        app.add_middleware(CORSMiddleware, allow_origins=list(origins), allow_headers=headers)
    return Gate(app, limits, token, metrics, PATHS), service


def _application() -> "FastAPI":
    from importlib.metadata import PackageNotFoundError, version

    from fastapi import FastAPI

    try:
        number = version("headway")
    except PackageNotFoundError:
        number = "0"
    # The library's own pages of documentation load scripts from elsewhere.
    return FastAPI(
        title="headway",
        version=number,
        description="Trained runs behind an address. Every error has the same shape.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )


def _add_problems(app: "FastAPI", seconds: float) -> None:
    """Gives every error the same shape, the library's own among them."""
    from fastapi import Request, Response
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException

    def response(problem: ProblemError) -> Response:
        return Response(problem.body, problem.status, problem.headers)

    async def known(_: Request, error: Exception) -> Response:
        return response(problem_of(error, seconds))

    async def not_valid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return response(invalid(error.errors()))

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 404:
            return response(ProblemError("not_found", f"there is nothing at this path; {_paths()}"))
        if error.status_code == 405:
            problem = ProblemError("wrong_method", f"not with {request.method}")
            problem.headers |= {k.lower(): v for k, v in (error.headers or {}).items()}
            return response(problem)
        return response(ProblemError("malformed", NO_JSON))

    async def dropped(_: Request, error: Exception) -> Response:
        return Response(status_code=GONE)  # nobody reads it

    app.add_exception_handler(RequestValidationError, not_valid)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(Dropped, dropped)
    for kind in (Exception, *KNOWN):
        app.add_exception_handler(kind, known)


def _paths() -> str:
    return f"expected one of {', '.join(PATHS)}"


def _problems(*codes: str) -> dict[int | str, dict[str, Any]]:
    """Descriptions of errors for the schema."""
    return {
        STATUS[code]: {"model": schema.ProblemBody, "description": ABOUT[code]} for code in codes
    }


def _add_asking(app: "FastAPI", service: Service) -> None:
    """The paths that compute."""
    from fastapi import Request, Response
    from fastapi.responses import StreamingResponse

    json = "application/json"
    common: Any = {"responses": _problems(*ABOUT), "tags": ["ask"]}

    @app.post("/translate", response_model=schema.Translations, **common)
    async def translate(asked: schema.TranslateRequest, request: Request) -> Response:
        """Translates texts and answers when all are done."""
        return Response(await service.answer(asked, request.receive), media_type=json)

    stream: Any = {"content": {"text/event-stream": {}}, "description": "Server-sent events."}

    @app.post(
        "/translate/stream",
        response_class=Response,
        responses={**_problems(*ABOUT), 200: stream},
        tags=["ask"],
    )
    async def translate_stream(asked: schema.TranslateRequest, request: Request) -> Response:
        """Translates texts and tells each as it finishes, as server-sent events.

        `result` has `number` (the place of the text, from 0) and `result`; `error` has `number` and
        `error`; `done`, the last one, has `texts` and `failed`, the numbers of them.
        """
        order, job = await service.submit(asked)
        events = service.events(order, job, request.receive)
        # Proxies should pass events on at once.
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(events, headers=headers, media_type="text/event-stream")

    @app.post("/score", response_model=schema.Scores, **common)
    async def score(asked: schema.ScoreRequest, request: Request) -> Response:
        """Log probabilities of given outputs, or of texts under a language model."""
        return Response(await service.answer(asked, request.receive), media_type=json)

    @app.post("/predict", response_model=schema.Predictions, **common)
    async def predict(asked: schema.PredictRequest, request: Request) -> Response:
        """What a model tells of texts: labels, tags, answers or values, by its task."""
        return Response(await service.answer(asked, request.receive), media_type=json)

    @app.post("/generate", response_model=schema.Generations, **common)
    async def generate(asked: schema.GenerateRequest, request: Request) -> Response:
        """What a language model writes after prompts."""
        return Response(await service.answer(asked, request.receive), media_type=json)

    @app.post("/fill", response_model=schema.Fillings, **common)
    async def fill(asked: schema.FillRequest, request: Request) -> Response:
        """The likeliest words for each `[MASK]` of texts."""
        return Response(await service.answer(asked, request.receive), media_type=json)

    @app.post("/embed", response_model=schema.Embeddings, **common)
    async def embed(asked: schema.EmbedRequest, request: Request) -> Response:
        """Vectors of texts."""
        return Response(await service.answer(asked, request.receive), media_type=json)

    @app.post("/inspect", response_model=schema.Inspection, **common)
    async def inspect(asked: schema.InspectRequest, request: Request) -> Response:
        """What a model does with one text: outputs, search, attention of one of the outputs."""
        return Response(await service.inspect(asked, request.receive), media_type=json)


def _add_looking(app: "FastAPI", service: Service, metrics: Metrics) -> None:
    """The paths that tell about the server."""
    from fastapi import Response
    from fastapi.responses import HTMLResponse, JSONResponse

    closed = _problems("unauthorized")
    # The page is the same for everybody; what it shows it asks for, with a token if need be. Who
    # may frame it can only be said in a header.
    content = inspection_page(None, live=True)
    headers = {"content-security-policy": f"{page_policy(live=True)}; frame-ancestors 'none'"}

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def page() -> Response:
        return HTMLResponse(content, headers=headers)

    @app.get("/models", response_model=schema.Models, responses=closed, tags=["look"])
    async def models() -> Response:
        """What is served, and the limits of a request."""
        return JSONResponse(service.models())

    @app.get(
        "/training",
        response_model=schema.Training,
        responses=_problems("unauthorized", "invalid", "timeout"),
        tags=["look"],
    )
    async def training(model: schema.Model = None) -> Response:
        """The training log of a run as it is now, finished or not."""
        return JSONResponse(await service.training(model))

    @app.get(
        "/health",
        response_model=schema.Health,
        responses={503: {"model": schema.Health, "description": "About to stop."}},
        tags=["look"],
    )
    async def health() -> Response:
        """Whether requests are taken. Needs no token."""
        if service.batcher.is_draining:
            return JSONResponse({"status": "draining"}, 503, {"retry-after": "1"})
        return JSONResponse({"status": "ready"})

    text: Any = {"content": {"text/plain": {}}, "description": "For Prometheus."}

    @app.get("/metrics", responses={**closed, 200: text}, response_class=Response, tags=["look"])
    async def figures() -> Response:
        """Counters, as Prometheus reads them."""
        shown = metrics.show(service.batcher.n_waiting, service.batcher.n_running)
        return Response(shown, media_type=metrics.content_type)
