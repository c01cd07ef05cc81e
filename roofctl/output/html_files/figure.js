// The picture as plotly takes it: ceilings, points, axes. No name of a kernel is among it.

const LEVEL_COLORS = { l1: '#0072B2', l2: '#D55E00', hbm: '#009E73', shared: '#CC79A7' };
const LEVEL_COLORS_DARK = { l1: '#56B4E9', l2: '#F0883E', hbm: '#2DC08D', shared: '#E39AC4' };
const SYMBOLS = { l1: 'circle', l2: 'square', hbm: 'triangle-up', load: 'triangle-down', store: 'triangle-up' };
const KERNEL_COLORS = ['#0072B2', '#E69F00', '#009E73', '#CC79A7', '#D55E00', '#56B4E9', '#7B4FB5', '#A8A000', '#8B5A2B',
  '#E0507A'];
const LIMIT_COLORS = {
  hbm: '#009E73', l2: '#D55E00', l1: '#0072B2', shared: '#CC79A7', tensor: '#7B4FB5', fma: '#E69F00', fp64: '#A8A000',
  issue: '#56B4E9', launch: '#B03A48', grid: '#E0507A', tail: '#8B5A2B', latency: '#B28DD6', serialised: '#5A3E8E',
};
const OTHER_LIMIT = '#3E7C7B';
const UNKNOWN_LIMIT = '#98A2AC';
const TOP = 10;
const FONT = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", Arial, sans-serif';

const theme = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
const levelColor = (level) => (darkNow() ? LEVEL_COLORS_DARK : LEVEL_COLORS)[level] || theme('ink');
const limitColor = (name) => (name === null ? UNKNOWN_LIMIT : LIMIT_COLORS[name] || OTHER_LIMIT);

/** Color of a type of operation, of its points and its peaks alike. */
function workColor(work) {
  const at = worksOf(view()).indexOf(work);
  return at < 0 ? theme('ink') : KERNEL_COLORS[at % KERNEL_COLORS.length];
}

function rowColor(row) {
  if (state.color === 'type') return row.precision ? workColor(row.precision) : theme('rest');
  if (state.color === 'limit') return limitColor(row.limit);
  return row.number < TOP ? KERNEL_COLORS[row.number] : theme('rest');
}

/** Diameter in pixels: the area is the share of the time. */
function size(row) {
  if (row.time_share === null) return 9;
  return Math.min(34, Math.max(6, 6 + 44 * Math.sqrt(row.time_share) * 0.8));
}

/** What the axes count: the unit of y with its factor, and both names. */
function axisUnits() {
  if (state.chart === 'walls') {
    const what = state.space === 'global' ? 'global requests per 32-byte sector' : 'shared instructions per 128-byte wavefront';
    return { factor: 1e9, y: 'Memory instructions (10⁹ per second)', x: 'Intensity (' + what + ')' };
  }
  if (!isFlop()) {
    return { factor: 1e9, y: 'GIPS (10⁹ warp instructions per second)', x: 'Intensity (warp instructions per 32-byte transaction)' };
  }
  return { factor: 1e12, y: 'TFLOP/s (TOP/s for integers)', x: 'Arithmetic intensity (operations per byte)' };
}

/** Ceilings to draw: {slopes: [{level, basis, bytes, traffic}], peaks: [{work, basis, rate}]}; rates per second. */
function ceilingsOf() {
  const slopes = [];
  const peaks = [];
  for (const each of drawnViews()) {
    const walls = state.chart === 'walls';
    const space = capture().walls.spaces[state.space];
    const unit = walls ? space.transaction_bytes : isFlop() ? 1 : 32;
    const wanted = walls ? (space.level === 'l1' ? ['l1'] : []) : levels();
    for (const entry of each.document.ceilings) {
      if (entry.absent !== undefined) continue;
      if (entry.bytes_per_second !== undefined) {
        if (wanted.includes(entry.level)) {
          slopes.push({ level: entry.level, basis: entry.basis, bytes: entry.bytes_per_second, traffic: entry.bytes_per_second / unit });
        }
      } else if (entry.warp_instructions_per_second !== undefined) {
        peaks.push({ work: 'issue', basis: entry.basis, rate: entry.warp_instructions_per_second });
      } else if (worksOf(each).includes(entry.level) && (state.works === null || state.works.has(entry.level))) {
        peaks.push({ work: entry.level, basis: entry.basis, rate: entry.flops_per_second });
        if (entry.sustained_flops_per_second) {
          peaks.push({ work: entry.level, basis: entry.basis, rate: entry.sustained_flops_per_second, sustained: true });
        }
      }
    }
    if (walls && space.level === 'shared' && each.shared_bytes_per_second) {
      slopes.push({ level: 'shared', basis: each.basis, bytes: each.shared_bytes_per_second, traffic: each.shared_bytes_per_second / unit });
    }
  }
  return { slopes: distinct(slopes, (each) => [each.level, each.bytes]), peaks: distinct(peaks, (each) => [each.work, each.sustained, each.rate]) };
}

/** Ceilings of which none is there twice: one that is measured and theoretical alike has the basis `both`. */
function distinct(ceilings, what) {
  const kept = new Map();
  for (const each of ceilings) {
    const key = what(each).map((part) => (typeof part === 'number' ? part.toPrecision(3) : part)).join(' ');
    const same = kept.get(key);
    if (!same) kept.set(key, each);
    else if (same.basis !== each.basis) same.basis = 'both';
  }
  return [...kept.values()];
}

/** Ranges of both axes in values, from all points of the view and all ceilings: filters do not move them. */
function ranges(ceilings, factor) {
  const points = pointsOf(rowsOf(view()).filter((row) => state.alone === null || row.number === state.alone));
  const top = Math.max(0, ...ceilings.peaks.map((peak) => peak.rate));
  const ridges = top ? ceilings.slopes.map((slope) => top / slope.traffic) : [];
  let xs = ridges;
  let ys = ceilings.peaks.map((peak) => peak.rate / factor);
  for (const point of points) {
    xs.push(point.x);
    ys.push(point.y / factor);
  }
  for (const { from } of movesOf(points)) {
    xs.push(from[0]);
    ys.push(from[1] / factor);
  }
  xs = xs.filter((x) => x > 0);
  ys = ys.filter((y) => y > 0);
  let [left, right] = extent(xs, 0.01, 100);
  const [bottom, high] = extent(ys, 1, 1000);
  if (state.chart === 'walls') [left, right] = [Math.min(left, 1 / 45), 1.4];
  const walls = state.chart === 'walls';
  const beyond = walls ? 1 : state.log ? 4 : 1.3;
  return { x: [left / (walls ? 1.6 : 3), right * beyond], y: [bottom / 3, high * (state.log ? 2.2 : 1.15)] };
}

/** Smallest and largest value, without an array of arguments: there can be thousands. */
function extent(values, least, most) {
  if (!values.length) return [least, most];
  return values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, 0]);
}

/** Lines of the picture: {xs, ys, color, width, dash, label, along}; y in the axis' unit. */
function linesOf(ceilings, range, factor) {
  const lines = [];
  const left = state.log ? range.x[0] : 0;
  const right = range.x[1];
  const top = Math.max(0, ...ceilings.peaks.map((peak) => peak.rate));
  const both = state.ceilings === 'both';
  for (const slope of ceilings.slopes) {
    const end = top ? Math.min(top / slope.traffic, right) : right;
    const label = capture().views[0].levels[slope.level] || 'Shared memory';
    lines.push({
      kind: 'slope', xs: [left, end], ys: [left * slope.traffic / factor, end * slope.traffic / factor],
      color: levelColor(slope.level), width: 1.8, dash: slope.basis === 'theoretical' && both ? 'dash' : 'solid',
      label: label + ' ' + prefixed(slope.bytes, 'B/s', 3) + basisText(slope, both),
    });
  }
  for (const peak of ceilings.peaks) {
    const ridges = ceilings.slopes.map((slope) => peak.rate / slope.traffic);
    const start = Math.max(left, Math.min(right, ...ridges));
    lines.push({
      kind: 'peak', xs: [ridges.length ? start : left, right], ys: [peak.rate / factor, peak.rate / factor],
      color: state.color === 'type' ? workColor(peak.work) : theme('ink'),
      width: peak.sustained ? 1 : 1.6, dash: peak.sustained ? 'dot' : peak.basis === 'theoretical' && both ? 'dash' : 'solid',
      label: peakText(peak) + basisText(peak, both),
    });
  }
  return lines;
}

const basisText = (ceiling, both) => (both ? ', ' + ceiling.basis : '');

function peakText(peak) {
  if (peak.work === 'issue') return 'Issue ' + significant(peak.rate / 1e9, 4) + ' GIPS';
  const rate = prefixed(peak.rate, DATA.work_units[peak.work] || 'FLOP/s', 3);
  return (DATA.works[peak.work] || peak.work) + ' ' + rate + (peak.sustained ? ', power limit' : '');
}

/** Walls of the address space as lines from the bottom to the roof. */
function wallsOf(ceilings, range, factor) {
  if (state.chart !== 'walls') return [];
  const top = Math.max(0, ...ceilings.peaks.map((peak) => peak.rate));
  const roof = (intensity) => Math.max(0, ...ceilings.slopes.map((slope) => Math.min(top || Infinity, slope.traffic * intensity))) / factor;
  return capture().walls.spaces[state.space].walls.map((wall) => ({
    kind: 'wall', xs: [wall.intensity, wall.intensity], ys: [state.log ? range.y[0] : 0, roof(wall.intensity) || range.y[1]], color: theme(wall.main ? 'ink' : 'faint'),
    width: wall.main ? 1.4 : 0.8, dash: wall.main ? 'solid' : 'dot', label: wall.name,
  }));
}

/** Hollow markers of the kernels before the change, and lines from them that end in arrows. */
function moveTraces(points, factor) {
  const moves = movesOf(points).filter(({ from, to }) => from.some((value, at) => Math.abs(Math.log(value / to[at])) > 0.02));
  if (!moves.length) return [];
  const arrows = {
    type: 'scatter', mode: 'lines+markers', hoverinfo: 'skip', showlegend: false, connectgaps: false,
    x: moves.flatMap(({ from, to }) => [from[0], to[0], null]), y: moves.flatMap(({ from, to }) => [from[1] / factor, to[1] / factor, null]),
    line: { color: theme('faint'), width: 1.2 },
    marker: { symbol: 'arrow', angleref: 'previous', standoff: 5, color: theme('faint'), size: moves.flatMap(() => [0, 10, 0]) },
  };
  const hollow = {
    type: 'scatter', mode: 'markers', hoverinfo: 'skip', showlegend: false,
    x: moves.map(({ from }) => from[0]), y: moves.map(({ from }) => from[1] / factor),
    marker: {
      symbol: moves.map(({ level }) => SYMBOLS[level] + '-open'), size: moves.map(({ row }) => Math.max(8, size(row))),
      color: moves.map(({ row }) => rowColor(row)), line: { width: 1.6 },
    },
  };
  return [arrows, hollow];
}

function traces(lines, points, factor) {
  const made = lines.map((line) => ({
    type: 'scatter', mode: 'lines', x: line.xs, y: line.ys, hoverinfo: 'skip', showlegend: false,
    line: { color: line.color, width: line.width, dash: line.dash },
  }));
  made.push(...moveTraces(points, factor));
  for (const level of [...new Set(points.map((point) => point.level))]) {
    const own = points.filter((point) => point.level === level);
    made.push({
      type: 'scatter', mode: 'markers', hoverinfo: 'none', showlegend: false, meta: 'points',
      x: own.map((point) => point.x), y: own.map((point) => point.y / factor), customdata: own.map((point) => point.row.index),
      marker: {
        symbol: own.map((point) => SYMBOLS[level] + (point.caveat ? '-open' : '')),
        size: own.map((point) => size(point.row)), color: own.map((point) => rowColor(point.row)), opacity: 0.85,
        line: { width: own.map((point) => (point.caveat ? 2 : 0.8)), color: theme('back') },
      },
      text: own.map((point) => point.level),
    });
  }
  return made;
}

function axis(name, range, narrow) {
  const log = state.log;
  return {
    title: { text: name, font: { size: narrow ? 11 : 13 }, standoff: 8 }, type: log ? 'log' : 'linear', gridcolor: theme('grid'), zeroline: false,
    linecolor: theme('line'), tickcolor: theme('line'), ticks: 'outside', tickformat: '~g', nticks: log ? decadeTicks(range) : 8,
    minor: { ticks: log ? 'outside' : '', ticklen: 3, tickcolor: theme('line') },
    range: log ? range.map((value) => Math.log10(value)) : [0, range[1]], autorange: false,
  };
}

/** Number of ticks with which plotly labels each decade, or every second one of many. */
function decadeTicks([from, to]) {
  return Math.max(4, Math.min(9, Math.floor(Math.log10(to / from) / 0.75)));
}

/** Plotly's layout; `right` is the width of what stands beside the axes, `narrow` breaks the titles. */
function layoutOf(range, units, { right, narrow }) {
  const made = (text, values) => axis(narrow ? text.replace(' (', '<br>(') : text, values, narrow);
  return {
    xaxis: made(units.x, range.x), yaxis: made(units.y, range.y), showlegend: false, hovermode: 'closest', dragmode: 'zoom',
    margin: { l: narrow ? 86 : 78, r: right, t: 22, b: narrow ? 70 : 58 }, paper_bgcolor: theme('back'), plot_bgcolor: theme('back'),
    font: { color: theme('ink'), size: 12, family: FONT },
    hoverdistance: 24,
    // The same key keeps the part that the reader has zoomed to.
    uirevision: [state.capture, view().model, state.chart, state.space, state.log, state.alone].join(' '),
  };
}
