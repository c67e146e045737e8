/** Long work in slices, between which the page stays responsive. */

const pause = new MessageChannel();
const waiting = [];
pause.port1.onmessage = () => waiting.shift()();

/**
 * Runs a generator until it ends: at once for a moment, so that small work is done when this
 * returns, then a slice at a time.
 * @param {Iterator<void>} work
 * @param {{first?: number, slice?: number, after?: (done: boolean) => void}} [options]
 *   milliseconds of the first and of every other slice; what to do after each.
 * @returns {() => void} stops it
 */
export function inSlices(work, { first = 24, slice = 16, after = () => {} } = {}) {
  let stopped = false;
  const go = (budget) => {
    if (stopped) return;
    const end = performance.now() + budget;
    let done = false;
    while (!done && performance.now() < end) done = Boolean(work.next().done);
    after(done);
    // A timer every time would wait 4 ms; a frame is left to the browser by the timer anyway.
    if (!done) next(() => go(slice));
  };
  go(first);
  return () => {
    stopped = true;
  };
}

function next(task) {
  requestAnimationFrame(() => {
    waiting.push(task);
    pause.port2.postMessage(null);
  });
}
