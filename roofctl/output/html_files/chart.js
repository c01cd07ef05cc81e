// The picture on the page: drawing it, pointing at it, walking through it with the keyboard, and saving it.

const chart = { plot: null, layer: null, picture: null, focus: null };

function startChart() {
  chart.plot = element('div', { class: 'plot' });
  chart.layer = drawn('svg', { class: 'labels', 'aria-hidden': 'true' });
  byId('chart').append(chart.plot, chart.layer);
  byId('chart').addEventListener('keydown', chartKey);
}

function drawChart() {
  const units = axisUnits();
  const points = pointsOf(shownRows());
  const ceilings = ceilingsOf();
  const range = ranges(ceilings, units.factor);
  const lines = [...linesOf(ceilings, range, units.factor), ...wallsOf(ceilings, range, units.factor)];
  chart.picture = { points, lines, factor: units.factor, units };
  const first = !chart.plot.data;
  const width = state.printing ? 700 : byId('chart').clientWidth;
  const layout = layoutOf(range, units, { right: marginFor(lines, width), narrow: width < 520 });
  // Plotly's own way to a new size takes longer than a browser waits before it prints.
  if (state.printing) Object.assign(layout, { width: 700, height: 430 });
  Plotly.react(chart.plot, traces(lines, points, units.factor), layout, {
    displaylogo: false, responsive: true, typesetMath: false, scrollZoom: false,
    modeBarButtons: [['zoom2d', 'pan2d', 'zoomIn2d', 'zoomOut2d', 'resetScale2d']],
  });
  if (first) listen();
  relabel();
  describeChart(points);
}

function relabel() {
  drawLabels(chart.plot, chart.layer, chart.picture);
  drawKey(chart.picture.points);
}

function listen() {
  for (const event of ['plotly_afterplot', 'plotly_relayout', 'plotly_relayouting']) chart.plot.on(event, relabel);
  chart.plot.on('plotly_hover', (event) => {
    const hit = event.points.find((point) => point.customdata !== undefined);
    if (hit) showHover(hit.customdata, hit.text, event.event.clientX, event.event.clientY);
  });
  chart.plot.on('plotly_unhover', hideHover);
  chart.plot.on('plotly_click', (event) => {
    const hit = event.points.find((point) => point.customdata !== undefined);
    if (hit) select(hit.customdata);
  });
}

/** What the picture shows, in words; and why it shows nothing, where it does not. */
function describeChart(points) {
  const rows = shownRows();
  const without = kernelsOf(rows) - kernelsOf(points.map((point) => point.row));
  const places = state.chart === 'walls' ? state.space + ' memory' : levels().map((level) => view().levels[level]).join(', ');
  const kinds = view().basis ? `${state.ceilings} ceilings` : 'no ceilings, since the GPU is not known';
  let text = `${counted(points.length, 'point')} of ${counted(kernelsOf(rows), 'kernel')} at ${places || 'no level'}; ${kinds}.`;
  if (without) text += ` ${count(without)} without a point${reasonsOf(rows, points)}.`;
  byId('chart-text').textContent = text;
  byId('chart').querySelector('.empty')?.remove();
  if (!points.length) byId('chart').append(element('p', { class: 'empty' }, 'No kernel has a point here.'));
  byId('chart-heading').textContent = state.chart === 'walls' ? 'Memory walls' : 'Roofline';
}

/** The most frequent reason for missing points, in brackets. */
function reasonsOf(rows, points) {
  const drawnRows = new Set(points.map((point) => point.row.number));
  const reasons = new Map();
  for (const row of rows) {
    if (drawnRows.has(row.number) || !row.missing || state.chart === 'walls') continue;
    for (const level of levels()) {
      if (row.missing[level]) reasons.set(row.missing[level], (reasons.get(row.missing[level]) || 0) + 1);
    }
  }
  const first = [...reasons].sort((a, b) => b[1] - a[1])[0];
  return first ? ' (' + elide(visible(first[0]), 160) + ')' : '';
}

/** Symbols of the levels, colors, and ceilings without a label of their own, under the picture. */
function drawKey(points) {
  const key = byId('key');
  key.replaceChildren();
  for (const level of [...new Set(points.map((point) => point.level))]) {
    const label = view().levels[level] || level + 's';
    key.append(element('span', {}, symbolElement(level), label));
  }
  for (const [color, label] of colorKey(points)) key.append(element('span', {}, element('span', { class: 'swatch', color }), nameElement(label, 'plain-name')));
  for (const line of unlabelled()) key.append(element('span', {}, lineElement(line), line.label));
  if (points.some((point) => point.caveat)) key.append(element('span', {}, 'hollow: the counts are not exact'));
  key.append(element('span', {}, 'area: share of the time'));
}

/** Pairs of color and label: limits, or the longest kernels. */
function colorKey(points) {
  const rows = [...new Set(points.map((point) => point.row))];
  if (state.color === 'limit') {
    const labels = new Map(rows.map((row) => [row.limit_label, limitColor(row.limit)]));
    return [...labels].map(([label, color]) => [color, label]);
  }
  if (state.color === 'type') {
    const works = new Set(rows.map((row) => row.precision).filter(Boolean));
    return [...works].map((work) => [workColor(work), DATA.works[work] || work]);
  }
  const top = new Map(rows.filter((row) => row.number < TOP).map((row) => [row.number, row]));
  const pairs = [...top.values()].map((row) => [rowColor(row), elide(row.shown_name, 40)]);
  return rows.some((row) => row.number >= TOP) ? [...pairs, [theme('rest'), 'all others']] : pairs;
}

const unlabelled = () => chart.picture.unlabelled || [];

function lineElement(line) {
  const svg = drawn('svg', { viewBox: '0 0 14 14', 'aria-hidden': 'true' });
  svg.append(drawn('path', { d: 'M0 7H14', stroke: line.color, 'stroke-width': 2, 'stroke-dasharray': { dash: '5 3', dot: '2 2' }[line.dash] || 'none' }));
  return svg;
}

function symbolElement(level) {
  const svg = drawn('svg', { viewBox: '0 0 14 14', 'aria-hidden': 'true' });
  const shapes = {
    circle: ['circle', { cx: 7, cy: 7, r: 5 }], square: ['rect', { x: 2, y: 2, width: 10, height: 10 }],
    'triangle-up': ['path', { d: 'M7 1.5 13 12.5H1Z' }], 'triangle-down': ['path', { d: 'M7 12.5 1 1.5H13Z' }],
  };
  const [tag, attributes] = shapes[SYMBOLS[level]];
  svg.append(drawn(tag, { ...attributes, fill: theme('faint') }));
  return svg;
}

// --- keyboard ---------------------------------------------------------------------------------------------------------

/** Arrow keys go through the points from left to right, and through the levels of one kernel. */
function chartKey(event) {
  const points = [...chart.picture.points].sort((a, b) => a.x - b.x || a.y - b.y);
  if (event.key === 'Escape') return stop(event, leaveSelection);
  if (event.key.toLowerCase() === 'i' && !event.ctrlKey && !event.metaKey) return stop(event, toggleAlone);
  if (!points.length) return undefined;
  const now = points.findIndex((point) => chart.focus && point.row.index === chart.focus.index && point.level === chart.focus.level);
  const last = points.length - 1;
  const next = {
    ArrowRight: Math.min(last, now + 1), ArrowLeft: Math.max(0, now < 0 ? last : now - 1), Home: 0, End: last,
    ArrowUp: byTime(points, now, -1), ArrowDown: byTime(points, now, 1),
  }[event.key];
  if (next === undefined) return undefined;
  return stop(event, () => {
    const point = points[next];
    chart.focus = { index: point.row.index, level: point.level };
    select(point.row.index, { quiet: true });
    announce(`${visible(point.row.short_name)}, ${view().levels[point.level] || point.level}: ${spoken(point.row)}`);
  });
}

/** The next longer (-1) or shorter (1) kernel's first point. */
function byTime(points, now, step) {
  const order = [...new Set(points.map((point) => point.row.index))].sort((a, b) => a - b);
  const at = now < 0 ? (step > 0 ? -1 : order.length) : order.indexOf(points[now].row.index);
  const wanted = order[Math.min(order.length - 1, Math.max(0, at + step))];
  return points.findIndex((point) => point.row.index === wanted);
}

function stop(event, action) {
  event.preventDefault();
  action();
}

function spoken(row) {
  return `${known(row.time_share, percent)} of the time, ${known(row.seconds, duration)} a launch, limit ${limitText(row)}, `
    + `headroom ${headroomText(row)}`;
}

// --- saving -----------------------------------------------------------------------------------------------------------

/** The picture as the text of an SVG file, with title and key: plotly's drawing, and ours over it. */
async function svgText() {
  const { width, height } = chart.plot.getBoundingClientRect();
  const address = await Plotly.toImage(chart.plot, { format: 'svg', width, height });
  const made = new DOMParser().parseFromString(decodeURIComponent(address.slice(address.indexOf(',') + 1)), 'image/svg+xml').documentElement;
  const key = keyLines(width);
  const [above, below] = [46, 10 + 18 * key.length];
  const svg = drawn('svg', { viewBox: `0 0 ${width} ${height + above + below}`, width, height: height + above + below, 'font-family': FONT });
  svg.append(drawn('rect', { width: '100%', height: '100%', fill: theme('back') }));
  svg.append(drawn('text', { x: 12, y: 20, 'font-size': 15, 'font-weight': 'bold', fill: theme('ink') }, elide(titleText(), Math.floor(width / 8))));
  svg.append(drawn('text', { x: 12, y: 38, 'font-size': 12, fill: theme('faint') }, elide(subtitleText(), Math.floor(width / 6.5))));
  const body = drawn('g', { transform: `translate(0 ${above})` });
  body.append(...made.childNodes);
  const labels = drawn('g', { transform: `translate(0 ${above})` });
  // What is selected is of the page, not of the picture.
  labels.append(...[...chart.layer.childNodes].filter((node) => !node.matches('.rings')).map((node) => node.cloneNode(true)));
  svg.append(body, labels, ...key.map((line, index) => keyGroup(line, above + height + 14 + 18 * index)));
  return new XMLSerializer().serializeToString(svg);
}

/** Entries of the key broken into lines: each [x, shape or null, color, label]. */
function keyLines(width) {
  const shapes = [...new Set(chart.picture.points.map((point) => point.level))].map((level) => [symbolElement(level), theme('faint'), view().levels[level] || level + 's']);
  const entries = [...shapes, ...colorKey(chart.picture.points).map(([color, label]) => [null, color, label]),
    ...unlabelled().map((line) => [lineElement(line), line.color, line.label])];
  const lines = [[]];
  let x = 12;
  for (const [shape, color, label] of entries) {
    const wide = 34 + widthOf(label);
    if (x + wide > width && lines[lines.length - 1].length) {
      lines.push([]);
      x = 12;
    }
    lines[lines.length - 1].push([x, shape, color, label]);
    x += wide;
  }
  return lines;
}

function keyGroup(line, y) {
  const group = drawn('g', {});
  for (const [x, shape, color, label] of line) {
    if (shape) {
      const symbol = shape.firstChild;
      symbol.setAttribute('transform', `translate(${x} ${y - 11})`);
      group.append(symbol);
    } else {
      group.append(drawn('rect', { x, y: y - 10, width: 11, height: 11, rx: 2, fill: color }));
    }
    group.append(drawn('text', { x: x + 18, y, 'font-size': 12, fill: theme('ink') }, label));
  }
  return group;
}

/** The picture as a PNG, at twice its size. */
async function pngBlob() {
  const text = await svgText();
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.naturalWidth * 2, image.naturalHeight * 2];
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
}
