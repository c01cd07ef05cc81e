// The data of the page, what the reader has chosen, and which rows follow from that.

const DATA = JSON.parse(byId('data').textContent);

const state = {
  capture: 0,
  model: DATA.captures[0].views[0].model,
  ceilings: DATA.captures[0].views[0].basis || 'theoretical',
  chart: DATA.chart,
  space: DATA.spaces[0],
  levels: new Set(DATA.levels),
  works: null, // types of operation that are shown; null is all
  color: 'limit',
  log: true,
  before: true, // what the kernels were before a change, where the page compares
  share: 0, // index into the steps of the slider
  filter: '',
  limit: null, // only kernels with this limit
  alone: null, // number of the one kernel that is shown
  selected: null, // index of a row
  sort: { key: 'index', down: false },
  most: 200,
};

const SHARES = [0, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5];

const capture = () => DATA.captures[state.capture];

/** The view of the chosen model and ceilings, else one of the model, else the first. */
function view() {
  const views = capture().views;
  const basis = state.ceilings === 'both' ? 'measured' : state.ceilings;
  return views.find((each) => each.model === state.model && each.basis === basis)
    || views.find((each) => each.model === state.model) || views[0];
}

/** Views of the chosen model whose ceilings are drawn. */
function drawnViews() {
  const all = capture().views.filter((each) => each.model === view().model);
  return state.ceilings === 'both' ? all : [view()];
}

/** Rows of a view as objects: the columns of the document, and what the page has beside them. */
function rowsOf(each) {
  if (!each.rows) {
    const columns = Object.entries({ ...each.columns, ...each.extra }).map(([name, at]) => [name, DATA.pool[at]]);
    const length = columns.length ? columns[0][1].length : 0;
    each.rows = Array.from({ length }, (_, index) => {
      const row = { index };
      for (const [name, column] of columns) row[name] = column[index];
      return row;
    });
    // Text to filter by is made once: names can be long and many.
    for (const row of each.rows) {
      row.shown_name = elide(visible(row.short_name), 60);
      row.search = [row.kernel, row.short_name, row.limit_label, workLabel(row), row.source].join(' ').toLowerCase();
    }
  }
  return each.rows;
}

const isFlop = () => view().model === 'flop';

function workLabel(row) {
  return row.precision ? DATA.works[row.precision] || row.precision : '';
}

/** Types of operation of a view in the order of their rows. */
function worksOf(each) {
  return [...new Set(rowsOf(each).map((row) => row.precision).filter(Boolean))];
}

/** Rows that the filters keep. Kernels without a known time have no share to be hidden by. */
function shownRows() {
  const least = SHARES[state.share];
  const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const works = isFlop() ? state.works : null;
  return rowsOf(view()).filter((row) => (state.alone === null || row.number === state.alone)
    && (row.time_share === null || row.time_share >= least)
    && (state.limit === null || row.limit_label === state.limit)
    && (works === null || !row.precision || works.has(row.precision))
    && words.every((word) => row.search.includes(word)));
}

/** Time of rows as part of all kernels', each kernel once. */
function shareOf(rows) {
  const seen = new Set();
  let sum = 0;
  for (const row of rows) {
    if (seen.has(row.number)) continue;
    seen.add(row.number);
    sum += row.time_share || 0;
  }
  return sum;
}

const kernelsOf = (rows) => new Set(rows.map((row) => row.number)).size;

/** Levels that are drawn: those chosen, of an isolated kernel all. */
function levels() {
  const all = Object.keys(view().levels);
  if (state.alone !== null) return all;
  return all.filter((level) => state.levels.has(level));
}

/** Points of the picture: {row, level, x, y, caveat}; x in work per unit of traffic, y in work per second. */
function pointsOf(rows) {
  const points = [];
  if (state.chart === 'walls') {
    for (const row of rows) {
      for (const [space, access, x, y, caveat] of capture().walls.points[row.number] || []) {
        if (space === state.space) points.push({ row, level: access.split(' ').pop(), access, x, y, caveat });
      }
    }
    return points;
  }
  const [flop, wanted] = [isFlop(), levels()];
  for (const row of rows) {
    const rate = flop ? row.flops_per_second : row.gips === null ? null : row.gips * 1e9;
    for (const level of wanted) {
      if (!row.drawn.includes(level)) continue;
      points.push({ row, level, x: row[level + '_intensity'], y: rate, caveat: (row.caveats || {})[level] || '' });
    }
  }
  return points.filter((point) => point.x > 0 && point.y > 0);
}

/** How the time of a row changed: "−12%", "≈" within noise, "new". Empty where nothing is compared. */
function changeText(row) {
  if (!view().compared) return '';
  if (!row.before) return 'new';
  if (row.before.verdict === 'within noise') return '≈';
  if (row.before.ratio === null) return UNKNOWN;
  const change = row.before.ratio - 1;
  return (change > 0 ? '+' : '−') + percent(Math.abs(change));
}

/** Points of the kernels before the change, each with that after it: {row, level, from: [x, y], to: [x, y]}. */
function movesOf(points) {
  if (!view().compared || !state.before || state.chart === 'walls') return [];
  return points.flatMap((point) => {
    const was = point.row.before && point.row.before.points.find(([level]) => level === point.level);
    return was && was[1] > 0 && was[2] > 0 ? [{ row: point.row, level: point.level, from: [was[1], was[2]], to: [point.x, point.y] }] : [];
  });
}

/** The document of the view, as `report --format json` prints it. */
function documentOf(each) {
  const names = Object.keys(each.columns);
  const kernels = rowsOf(each).map((row) => Object.fromEntries(names.map((name) => [name, row[name]])));
  return { ...each.document, kernels };
}
