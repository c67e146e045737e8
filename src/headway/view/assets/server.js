/** Requests to the page's own server: the newest request wins; errors have a message. */

export class Server {
  constructor() {
    this.number = 0;
    this.abort = null;
    this.token = "";
  }

  /**
   * Requests an inspection. The result is null if a newer request was sent meanwhile.
   * @param {Object<string, any>} question
   */
  async inspect(question) {
    const number = ++this.number;
    this.abort?.abort();
    this.abort = new AbortController();
    try {
      const answer = await this.ask("/inspect", {
        method: "POST",
        body: JSON.stringify(question),
        signal: this.abort.signal,
        headers: { "Content-Type": "application/json" },
      });
      return number === this.number ? answer : null;
    } catch (error) {
      if (error.name === "AbortError" || number !== this.number) return null;
      throw error;
    }
  }

  /** @returns {Promise<{models: Object<string, any>[], limits?: Object<string, number>}>} */
  models() {
    return this.ask("/models");
  }

  /** @param {string} model @returns {Promise<Object<string, any>[]>} */
  async training(model) {
    return (await this.ask(`/training?model=${encodeURIComponent(model)}`)).rows;
  }

  async ask(path, options = {}) {
    const headers = {
      ...options.headers,
      ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}),
    };
    let response;
    try {
      response = await fetch(path, { ...options, headers });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error("The server does not answer.");
    }
    const body = await response.json().catch(() => null);
    if (response.ok && body !== null) return body;
    const problem = new Error(body?.error?.message ?? `The server answered ${response.status}.`);
    throw Object.assign(problem, { status: response.status });
  }
}
