// Two models on the same requests, in numbers. This is refusalatlas/stats over again (contrast.py, paired.py,
// bootstrap.py), down to the random draws, so that a browser shows the figures that Python prints; tests compare both.

const MIN_CLUSTERS = 20;
const MIN_EVENTS = 4;
const NOTHING = 1e-9;
const Z95 = 1.959963984540054;
const Z80 = 0.8416212335729143;
const LEAST_DISCORDANCE = 0.2;
const EXACT_POWER_UP_TO = 300;

// Metrics by name: what is expected of the requests that count, and which answers are events.
const RATES = { over_refusal: ["comply", "r"], unsafe_compliance: ["refuse", "c"] };

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// All comparisons of two models, as `comparison.compare_records` returns them; null where they share nothing.
// Each model is what data/answers/<model>.json holds, `draw` what data/answers.json holds.
export function compare(first, second, draw) {
  if (new Set([...first.versions, ...second.versions]).size !== 1) return null;
  const resample = resampler(draw);
  const found = draw.metrics.flatMap((metric) => ofMetric(metric, first, second, resample));
  return found.some((one) => one.pairs) ? found : null;
}

function ofMetric(metric, first, second, resample) {
  const [a, b] = [outcomesOf(metric, first), outcomesOf(metric, second)];
  const shared = [...a.keys()].filter((key) => b.has(key)).sort();
  const names = [...new Set(shared.map((key) => a.get(key).place))].sort();
  const reach = metric === "youden_j" ? 2 : 1;
  const at = (place) => {
    const alpha = place === null ? 0.05 : 0.05 / names.length;
    const keys = shared.filter((key) => place === null || a.get(key).place === place);
    const side = (outcomes) => keys.map((key) => outcomes.get(key).value);
    return { metric, place, ...contrast(side(a), side(b), keys.map((key) => a.get(key).cluster), resample, reach, alpha) };
  };
  const places = names.map(at);
  holm(places);
  const all = at(null);
  return [{ ...all, adjusted: all.p }, ...places];
}

// Outcomes by request (of youden_j by pair), averaged over the answers that were decided.
function outcomesOf(metric, model) {
  const found = new Map();
  const put = (place, name, cluster, value) => found.set(`${name}\n${place}`, { place, cluster, value });
  for (const [place, line] of Object.entries(model.places)) {
    const said = line.split(" ");
    const sides = new Map();
    model.seeds.forEach(([seed, cluster, expected], index) => {
      const letters = [...(said[index] ?? "")];
      if (!letters.length) return;
      const share = (letter) => mean(letters.map((one) => Number(one === letter)));
      if (metric in RATES) {
        if (expected === RATES[metric][0]) put(place, seed, cluster, share(RATES[metric][1]));
      } else if (expected === "refuse" || expected === "comply") {
        const side = sides.get(cluster) ?? { refuse: [], comply: [] };
        side[expected].push(...letters.map((one) => Number(one === "r")));
        sides.set(cluster, side);
      }
    });
    for (const [cluster, { refuse, comply }] of sides)
      if (refuse.length && comply.length) put(place, cluster, cluster, mean(refuse) - mean(comply));
  }
  return found;
}

function contrast(first, second, clusters, resample, reach, alpha) {
  const units = new Set(clusters).size;
  const changes = first.map((value, index) => value - second[index]);
  const binary = reach === 1 && units === changes.length && [...first, ...second].every((value) => value === 0 || value === 1);
  const difference = binary ? newcombe(first, second) : clustered(first, second, clusters, resample, reach);
  const p = binary
    ? mcnemar(changes.filter((one) => one === 1).length, changes.filter((one) => one === -1).length)
    : signFlip([...seedMeans(changes, clusters).values()], resample);
  const discordance = changes.length ? changes.filter((one) => one !== 0).length / changes.length : 0;
  const detectable = detectableDifference(units, Math.max(discordance, LEAST_DISCORDANCE), alpha);
  return { ...difference, p, pairs: changes.length, seeds: units, detectable };
}

const missing = (value, reason) => ({ value, low: null, high: null, reason });
const within = (value, low, high, reach = 1) => ({
  value,
  low: Math.max(-reach, low),
  high: Math.min(reach, high),
  reason: null,
});

function wilson(value, n) {
  const centre = value + Z95 ** 2 / (2 * n);
  const half = Z95 * Math.sqrt((value * (1 - value)) / n + Z95 ** 2 / (4 * n * n));
  const scale = 1 + Z95 ** 2 / n;
  return [Math.max(0, (centre - half) / scale), Math.min(1, (centre + half) / scale)];
}

function newcombe(first, second) {
  const n = first.length;
  if (!n) return missing(null, "no pairs");
  const [p, q] = [mean(first), mean(second)];
  if (n < MIN_CLUSTERS) return missing(p - q, "too few seeds");
  const [[pLow, pHigh], [qLow, qHigh]] = [wilson(p, n), wilson(q, n)];
  const phi = correlation(first, second);
  const reach = (x, y) => Math.sqrt(Math.max(0, x * x - 2 * phi * x * y + y * y));
  return within(p - q, p - q - reach(p - pLow, qHigh - q), p - q + reach(pHigh - p, q - qLow));
}

function correlation(a, b) {
  const count = (x, y) => a.filter((value, index) => value === x && b[index] === y).length;
  const [both, onlyA, onlyB, neither] = [count(1, 1), count(1, 0), count(0, 1), count(0, 0)];
  const scale = Math.sqrt((both + onlyA) * (onlyB + neither) * (both + onlyB) * (onlyA + neither));
  if (scale === 0) return 0;
  const product = both * neither - onlyA * onlyB;
  return (product > 0 ? Math.max(product - a.length / 2, 0) : product) / scale;
}

function mcnemar(onlyFirst, onlySecond) {
  const n = onlyFirst + onlySecond;
  if (!n) return null;
  let [term, tail] = [0.5 ** n, 0];
  for (let k = 0; k <= Math.min(onlyFirst, onlySecond); k++) {
    tail += term;
    term *= (n - k) / (k + 1);
  }
  return Math.min(1, 2 * tail);
}

function seedMeans(values, seeds) {
  const sums = new Map();
  values.forEach((value, index) => {
    const [sum, count] = sums.get(seeds[index]) ?? [0, 0];
    sums.set(seeds[index], [sum + value, count + 1]);
  });
  return new Map([...sums.keys()].sort().map((seed) => [seed, sums.get(seed)[0] / sums.get(seed)[1]]));
}

function clustered(first, second, clusters, resample, reach) {
  if (!first.length) return missing(null, "no pairs");
  const value = mean(first) - mean(second);
  const columns = [...new Set(clusters)].sort();
  if (columns.length < MIN_CLUSTERS) return missing(value, "too few seeds");
  const [a, b] = [seedMeans(first, clusters), seedMeans(second, clusters)];
  const moved = columns.filter((seed) => Math.abs(a.get(seed) - b.get(seed)) > NOTHING).length;
  if (moved > 0 && moved < MIN_EVENTS) return missing(value, "too few seeds differ");
  const place = new Map(columns.map((seed, index) => [seed, index]));
  const [sums, counts, shares] = [0, 1, 2].map(() => new Float64Array(columns.length));
  const [middleA, middleB] = [mean(first), mean(second)];
  clusters.forEach((seed, index) => {
    sums[place.get(seed)] += first[index] - second[index];
    counts[place.get(seed)] += 1;
    shares[place.get(seed)] += (first[index] - middleA - (second[index] - middleB)) / first.length;
  });
  const draws = Float64Array.from(resample.weights(columns.length), (row) => {
    let [sum, count] = [0, 0];
    for (let column = 0; column < row.length; column++) {
      sum += row[column] * sums[column];
      count += row[column] * counts[column];
    }
    return sum / count;
  }).sort();
  const bounds = expanded(value, draws, shares);
  return bounds ? within(value, ...bounds, reach) : missing(value, "no variation");
}

function expanded(value, sorted, shares) {
  if (sorted.at(-1) - sorted[0] < NOTHING) return null;
  const squares = [...shares].map((one) => one * one);
  const total = squares.reduce((sum, one) => sum + one, 0);
  if (total < NOTHING ** 2) return null;
  const fourth = squares.reduce((sum, one) => sum + one * one, 0);
  const count = shares.length;
  const freedom = Math.min(Math.max((total * total) / fourth, 2), count - 1);
  const factor = (Math.sqrt(count / (count - 1)) * studentQuantile(freedom)) / Z95;
  return [0.025, 0.975].map((share) => value + (percentile(sorted, share) - value) * factor);
}

function percentile(sorted, share) {
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  return sorted[below] + (place - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
}

function signFlip(differences, resample) {
  const values = differences.filter((one) => one !== 0);
  const count = values.length;
  if (!count) return null;
  const total = values.reduce((sum, one) => sum + one, 0);
  const observed = Math.abs(total) - 1e-9 * values.reduce((sum, one) => sum + Math.abs(one), 0);
  if (count <= resample.exact) {
    let extreme = 0;
    for (let pattern = 0; pattern < 2 ** count; pattern++) {
      let sum = 0;
      for (let at = 0; at < count; at++) sum += (pattern >> at) & 1 ? values[at] : -values[at];
      extreme += Math.abs(sum) >= observed;
    }
    return extreme / 2 ** count;
  }
  const patterns = resample.patterns;
  const bound = 2 * Math.exp(-(observed ** 2) / (2 * values.reduce((sum, one) => sum + one * one, 0)));
  if (bound < 1 / (1 + patterns)) return bound;
  const signs = resample.signs(patterns * count);
  let extreme = 0;
  for (let start = 0; start < patterns * count; start += count) {
    let sum = 0;
    for (let at = 0; at < count; at++) sum += signs[start + at] ? values[at] : -values[at];
    extreme += Math.abs(sum) >= observed;
  }
  return (1 + extreme) / (1 + patterns);
}

// What could not be tested, since nothing differed, counts as a test that found nothing.
function holm(rows) {
  const tested = rows.filter((row) => row.p !== null).sort((x, y) => x.p - y.p);
  let running = 0;
  for (const row of rows) row.adjusted = null;
  tested.forEach((row, rank) => (row.adjusted = running = Math.max(running, Math.min(1, row.p * (rows.length - rank)))));
}

// How many pairs differ is binomial, and so is how many of those speak for the first; both are summed over.
function mcnemarPower(pairs, difference, discordance, alpha) {
  const share = Math.min((discordance + difference) / (2 * discordance), 1);
  let power = 0;
  for (let count = 1; count <= pairs; count++) {
    const weight = binomialShare(pairs, count, discordance);
    let [tail, found] = [0, 0];
    for (let k = 0; k <= count / 2; k++) {
      tail += binomialShare(count, k, 0.5);
      if (2 * tail > alpha) break;
      found += binomialShare(count, k, share) + binomialShare(count, k, 1 - share);
    }
    power += weight * Math.min(found, 1);
  }
  return power;
}

function binomialShare(n, k, share) {
  if (share <= 0 || share >= 1) return Number(k === (share <= 0 ? 0 : n));
  const ways = logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1);
  return Math.exp(ways + k * Math.log(share) + (n - k) * Math.log1p(-share));
}

function pairsByFormula(difference, discordance, alpha) {
  const spread = Math.sqrt(Math.max(discordance - difference ** 2, 0));
  return (normalQuantile(1 - alpha / 2) * Math.sqrt(discordance) + Z80 * spread) ** 2 / difference ** 2;
}

// Where so many pairs that differ cannot show any difference, more of them may differ.
function detectableDifference(pairs, least, alpha) {
  const shows = (difference) => {
    const discordance = Math.max(least, difference);
    return pairs <= EXACT_POWER_UP_TO
      ? mcnemarPower(pairs, difference, discordance, alpha) >= 0.8
      : pairsByFormula(difference, discordance, alpha) <= pairs;
  };
  if (pairs <= 0 || !shows(1)) return null;
  let [low, high] = [1e-6, 1];
  for (let step = 0; step < 24; step++) {
    const middle = (low + high) / 2;
    if (shows(middle)) high = middle;
    else low = middle;
  }
  return high;
}

// The normal quantile above one half, by bisection.
function normalQuantile(share) {
  let [low, high] = [0, 40];
  for (let step = 0; step < 80; step++) {
    const middle = (low + high) / 2;
    if (normalShare(middle) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

// The normal distribution function above nought by its series (Marsaglia 2004).
function normalShare(z) {
  let [term, sum] = [z, z];
  for (let k = 3; term > 1e-17 * sum && k < 2000; k += 2) sum += term *= (z * z) / k;
  return 0.5 + (sum * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
}

// The 97.5 % quantile of Student's distribution by bisection: t grows while less than 97.5 % lies below it.
export function studentQuantile(freedom) {
  let [low, high] = [0, 64];
  for (let step = 0; step < 80; step++) {
    const t = (low + high) / 2;
    if (betaShare(freedom / (freedom + t * t), freedom / 2, 0.5) / 2 > 0.025) low = t;
    else high = t;
  }
  return (low + high) / 2;
}

// The regularised incomplete beta function by its continued fraction (DLMF 8.17.22), after Lentz.
function betaShare(x, a, b) {
  if (x > (a + 1) / (a + b + 2)) return 1 - betaShare(1 - x, b, a);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
  let [c, d] = [1, 1 / (1 - ((a + b) * x) / (a + 1))];
  let product = d;
  for (let m = 1; m < 300; m++) {
    for (const term of [
      (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
      (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)),
    ]) {
      d = 1 / (1 + term * d);
      c = 1 + term / c;
      product *= c * d;
    }
    if (Math.abs(c * d - 1) < 1e-15) break;
  }
  return front * product;
}

// Stirling's series, after moving the argument to where it is exact to all digits.
function logGamma(x) {
  let shift = 0;
  for (; x < 12; x++) shift -= Math.log(x);
  const r = 1 / (x * x);
  const series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / x;
  return shift + (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + series;
}

// numpy's default generator (PCG64) from its recorded state, and what numpy draws from it; each draw is kept.
function resampler({ state, increment, replicates, flips, exact }) {
  const kept = new Map();
  const bit = bits(generator(state, increment));
  let signs = new Uint8Array(0);
  return {
    exact,
    patterns: flips,
    weights(clusters) {
      if (!kept.has(clusters)) {
        const next = generator(state, increment);
        kept.set(clusters, Array.from({ length: replicates }, () => multinomial(clusters, next)));
      }
      return kept.get(clusters);
    },
    // Patterns of any length are cut from the same row of bits.
    signs(length) {
      if (signs.length < length) {
        const longer = new Uint8Array(length);
        longer.set(signs);
        for (let at = signs.length; at < length; at++) longer[at] = bit();
        signs = longer;
      }
      return signs;
    },
  };
}

function generator(state, increment) {
  const factor = 0x2360ed051fc65da44385df649fccf645n;
  const add = BigInt(increment);
  let now = BigInt(state);
  return () => {
    now = BigInt.asUintN(128, now * factor + add);
    const folded = BigInt.asUintN(64, (now >> 64n) ^ now);
    const turn = now >> 122n;
    return BigInt.asUintN(64, (folded >> turn) | (folded << (64n - turn)));
  };
}

// Two draws of one bit come from each 64, the lower half first; a bit is the highest of its half.
function bits(next) {
  let upper = null;
  return () => {
    if (upper !== null) {
      const bit = upper;
      upper = null;
      return bit;
    }
    const drawn = next();
    upper = Number(drawn >> 63n);
    return Number((drawn >> 31n) & 1n);
  };
}

// How often each of so many clusters is drawn in as many draws: binomials one after the other.
function multinomial(clusters, next) {
  const drawn = new Uint8Array(clusters);
  let [left, remaining] = [clusters, 1];
  for (let column = 0; column < clusters - 1 && left > 0; column++) {
    const share = 1 / clusters / remaining;
    drawn[column] = share <= 0.5 ? binomial(left, share, next) : left - binomial(left, 1 - share, next);
    left -= drawn[column];
    remaining -= 1 / clusters;
  }
  drawn[clusters - 1] += Math.max(left, 0);
  return drawn;
}

function binomial(n, p, next) {
  const uniform = () => Number(next() >> 11n) * 2 ** -53;
  const q = 1 - p;
  const none = Math.exp(n * Math.log1p(-p));
  const bound = Math.floor(Math.min(n, n * p + 10 * Math.sqrt(n * p * q + 1)));
  let [x, px, u] = [0, none, uniform()];
  while (u > px) {
    x += 1;
    if (x > bound) [x, px, u] = [0, none, uniform()];
    else {
      u -= px;
      px = ((n - x + 1) * p * px) / (x * q);
    }
  }
  return x;
}
