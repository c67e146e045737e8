/** A search trace as a tree: parents, fates and coordinates of the candidates. */

/**
 * @typedef {{step: number, index: number, word: string, parent: Candidate|null, logProb: number,
 *   tokenLogProb: number, score: number, fate: "kept"|"ended"|"pruned", children: Candidate[],
 *   x: number, y: number, width: number, short?: string}} Candidate
 */

export const ROW = 44;
export const BOX = 34;
const GAP = 46;
const MARGIN = 14;
const START = 62;

export class Tree {
  /** @param {Object<string, any>} trace @param {string} start the first token of every hypothesis */
  constructor(trace, start) {
    this.beam = trace.beam;
    this.alpha = trace.alpha;
    this.start = {
      step: -1,
      index: 0,
      word: start,
      parent: null,
      fate: "kept",
      children: [],
      logProb: 0,
      score: 0,
    };
    /** @type {Candidate[][]} */
    this.steps = [];
    let kept = [this.start];
    trace.steps.forEach((step, at) => {
      const candidates = step.token.map((_, index) => this.candidate(step, at, index, kept));
      this.steps.push(candidates);
      kept = candidates.filter((candidate) => candidate.fate === "kept");
    });
  }

  candidate(step, at, index, kept) {
    const parent = kept[step.parent[index]] ?? kept[0];
    const made = {
      step: at,
      index,
      parent,
      children: [],
      word: step.text?.[index] ?? String(step.token[index]),
      logProb: step.log_prob[index],
      tokenLogProb: step.token_log_prob[index],
      score: step.score[index],
      fate: step.fate[index],
    };
    parent.children.push(made);
    return made;
  }

  /** From the first word to a candidate. @param {Candidate|null} end @returns {Candidate[]} */
  path(end) {
    const found = [];
    for (let at = end; at && at.step >= 0; at = at.parent) found.unshift(at);
    return found;
  }

  /** The candidate with which an output was complete; null if the trace does not have it. */
  endOf(output) {
    const wanted = output.tokens.join("\u0000");
    const words = (end) =>
      this.path(end)
        .map((c) => c.word)
        .join("\u0000");
    const ends = this.steps
      .flat()
      .filter((c) => c.fate === "ended" || c.step === this.steps.length - 1);
    const same = ends.filter(
      (c) => c.step === output.tokens.length - 1 || c.step === output.tokens.length,
    );
    return (
      same.find((c) => words(c) === wanted) ?? same.find((c) => words(c).startsWith(wanted)) ?? null
    );
  }

  /** The best of the finished ones. */
  best() {
    const ends = this.steps.flat().filter((c) => c.fate === "ended");
    return ends.reduce((a, b) => (a && a.score >= b.score ? a : b), null);
  }

  /**
   * Sets the coordinates of every visible candidate.
   * @param {boolean} withPruned
   * @param {(word: string) => number} measure width of a word
   * @returns {[number, number]} size of the drawing
   */
  layout(withPruned, measure) {
    const columns = this.steps.map((step) => step.filter((c) => withPruned || c.fate !== "pruned"));
    this.columns = columns;
    const tallest = Math.max(1, ...columns.map((column) => column.length));
    Object.assign(this.start, { x: MARGIN, y: MARGIN + ROW / 2, width: START });
    let x = MARGIN + START + GAP;
    for (const column of columns) {
      const width = Math.max(104, ...column.map((c) => Math.min(150, measure(c.word) + 20)));
      column.forEach((c, rank) =>
        Object.assign(c, { x, y: MARGIN + (rank + 0.5) * ROW, width, short: undefined }),
      );
      x += width + GAP;
    }
    return [x - GAP + MARGIN, 2 * MARGIN + tallest * ROW];
  }
}
