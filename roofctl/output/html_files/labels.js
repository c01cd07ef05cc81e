// Texts in the picture: ceilings along their lines, names of the longest kernels beside their points, a ring around the
// selected one. They lie over plotly's drawing in an SVG of their own, where a name is a text node.

const NAMED = 8;
const LABEL_SIZE = 12;
const MARGIN = 18;
const STEPS = 12;

let textWidths = null;

/** Width of a text in pixels. */
function widthOf(text) {
  if (!textWidths) {
    textWidths = document.createElement('canvas').getContext('2d');
    textWidths.font = LABEL_SIZE + 'px ' + FONT;
  }
  return textWidths.measureText(text).width;
}

/** Pixels of a value in the picture. */
function placer(plot) {
  const { xaxis, yaxis } = plot._fullLayout;
  const position = (axis, value) => axis._offset + axis.l2p(axis.type === 'log' ? Math.log10(value) : value);
  const box = { left: xaxis._offset, top: yaxis._offset, right: xaxis._offset + xaxis._length, bottom: yaxis._offset + yaxis._length };
  return { at: (x, y) => [position(xaxis, x), position(yaxis, y)], box };
}

/** Width of the margin on the right: of the labels of peaks, where the picture is wide enough for them. */
function marginFor(lines, width) {
  const widest = Math.max(0, ...lines.filter((line) => line.kind === 'peak').map((line) => widthOf(line.label)));
  return widest && width >= 520 && widest + 24 < width * 0.36 ? Math.ceil(widest) + 24 : MARGIN;
}

const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

function boxAt(x, y, width, height) {
  return { left: x, right: x + width, top: y, bottom: y + height };
}

const inside = (box, area) => box.left >= area.left && box.right <= area.right && box.top >= area.top && box.bottom <= area.bottom;

/** Write all texts anew; called after every change of the drawing. */
function drawLabels(plot, layer, picture) {
  layer.replaceChildren();
  if (!plot._fullLayout || !plot._fullLayout.xaxis) return;
  const { at, box } = placer(plot);
  const taken = [];
  const inBox = (x, y) => x >= box.left - 1 && x <= box.right + 1 && y >= box.top - 1 && y <= box.bottom + 1;
  const positions = picture.points.map((point) => [point, ...at(point.x, point.y / picture.factor)]).filter(([, x, y]) => inBox(x, y));
  const big = [...positions].sort((a, b) => (b[0].row.time_share || 0) - (a[0].row.time_share || 0)).slice(0, 60);
  for (const [point, x, y] of big) {
    const half = radius(point.row);
    taken.push(boxAt(x - half, y - half, 2 * half, 2 * half));
  }
  for (const line of picture.lines.filter((each) => each.kind === 'peak')) {
    const [start, y] = at(line.xs[0], line.ys[0]);
    taken.push(boxAt(start, y - 1, at(line.xs[1], line.ys[1])[0] - start, 2));
  }
  const outside = plot._fullLayout._size.r > MARGIN ? picture.lines.filter((line) => line.kind === 'peak' && at(line.xs[1], 1)[0] > box.right - 2) : [];
  peakLabels(layer, outside, at, box);
  picture.unlabelled = picture.lines.filter((line) => !outside.includes(line) && !lineLabel(layer, line, at, box, taken));
  const segments = picture.lines.map((line) => [...at(line.xs[0] || 1e-12, line.ys[0] || 1e-12), ...at(line.xs[1], line.ys[1])]);
  nameLabels(layer, positions, box, taken, segments);
  layer.append(drawn('g', { class: 'rings' }));
  drawRings(plot, layer, picture);
}

/** Heights in order, moved as little as makes each at least `high` from the next (pool adjacent violators). */
function apart(heights, high) {
  const pools = [];
  heights.forEach((y, index) => {
    pools.push({ sum: y - index * high, count: 1 });
    while (pools.length > 1 && mean(pools.at(-2)) > mean(pools.at(-1))) {
      const last = pools.pop();
      pools.at(-1).sum += last.sum;
      pools.at(-1).count += last.count;
    }
  });
  return pools.flatMap((pool) => Array(pool.count).fill(mean(pool))).map((y, index) => y + index * high);
}

const mean = (pool) => pool.sum / pool.count;

/** Labels of peaks outside the axes, at the height of their lines or as near as others allow. */
function peakLabels(layer, lines, at, box) {
  const entries = lines.map((line) => [line, at(line.xs[1], line.ys[1])[1]]).filter(([, y]) => y >= box.top - 1 && y <= box.bottom + 1).sort((a, b) => a[1] - b[1]);
  const places = apart(entries.map(([, y]) => y), LABEL_SIZE + 3);
  entries.forEach(([line, y], index) => {
    layer.append(drawn('path', { d: `M${box.right} ${y.toFixed(1)}l4 0L${box.right + 12} ${places[index].toFixed(1)}l4 0`, fill: 'none', stroke: line.color, 'stroke-width': 0.8 }));
    put(layer, line, box.right + 19, places[index] + 4, 0, 'start');
  });
}

/** Write the text of a ceiling or wall along its line; false where the line is visible and has no place for it. */
function lineLabel(layer, line, at, box, taken) {
  const [x1, y1] = at(line.xs[0] || 1e-12, line.ys[0] || 1e-12);
  const [x2, y2] = at(line.xs[1], line.ys[1]);
  const width = widthOf(line.label);
  if (line.kind === 'wall') {
    if (x1 >= box.left && x1 <= box.right) put(layer, line, x1 - 4, box.bottom - 6, -90, 'start');
    return true;
  }
  const clip = clipped(x1, y1, x2, y2, box);
  if (!clip) return true;
  const [left, top, right, bottom] = clip;
  const length = Math.hypot(right - left, bottom - top);
  if (line.kind === 'slope' && length < width + 12) return false;
  const angle = Math.atan2(bottom - top, right - left);
  // Peaks are labelled from their right end, slopes from their left one; where it is taken, further along.
  for (let step = 0; step <= STEPS; step++) {
    const part = step / STEPS;
    const along = line.kind === 'peak' ? length - width - 6 - part * Math.max(0, length - width - 12) : 8 + part * (length - width - 16);
    for (const shift of [-5, LABEL_SIZE + 2]) {
      const boxes = [0, 0.25, 0.5, 0.75, 1].map((place) => {
        const distance = along + place * width;
        const x = left + Math.cos(angle) * distance - Math.sin(angle) * shift;
        const y = top + Math.sin(angle) * distance + Math.cos(angle) * shift;
        return boxAt(x - width / 10, y - LABEL_SIZE + 1, width / 5, LABEL_SIZE + 2);
      });
      if (boxes.some((each) => each.top < box.top - 14 || each.left < box.left || each.bottom > box.bottom || taken.some((other) => overlap(each, other)))) continue;
      taken.push(...boxes.map((each) => ({ ...each, text: true })));
      const x = left + Math.cos(angle) * along - Math.sin(angle) * shift;
      const y = top + Math.sin(angle) * along + Math.cos(angle) * shift;
      put(layer, line, x, y, angle * 180 / Math.PI, 'start');
      return true;
    }
  }
  return false;
}

function put(layer, line, x, y, angle, anchor) {
  layer.append(drawn('text', {
    x: x.toFixed(1), y: y.toFixed(1), transform: `rotate(${angle.toFixed(2)} ${x.toFixed(1)} ${y.toFixed(1)})`, 'text-anchor': anchor,
    fill: line.color, 'font-size': LABEL_SIZE, stroke: theme('back'), 'stroke-width': 3, 'paint-order': 'stroke', class: 'ceiling',
  }, line.label));
}

/** The visible part of a line, or null (Liang and Barsky). */
function clipped(x1, y1, x2, y2, box) {
  let [start, end] = [0, 1];
  const edges = [[x1 - x2, x1 - box.left], [x2 - x1, box.right - x1], [y1 - y2, y1 - box.top], [y2 - y1, box.bottom - y1]];
  for (const [p, q] of edges) {
    if (p === 0 && q < 0) return null;
    if (p < 0) start = Math.max(start, q / p);
    if (p > 0) end = Math.min(end, q / p);
  }
  if (start >= end) return null;
  return [x1 + start * (x2 - x1), y1 + start * (y2 - y1), x1 + end * (x2 - x1), y1 + end * (y2 - y1)];
}

/** Names of the longest kernels in the picture, where there is space beside one of their points. */
function nameLabels(layer, positions, box, taken, segments) {
  const byKernel = new Map();
  for (const entry of positions) {
    const key = entry[0].row.index;
    if (!byKernel.has(key)) byKernel.set(key, []);
    byKernel.get(key).push(entry);
  }
  const order = [...byKernel.values()].sort((a, b) => rankOf(a[0][0].row) - rankOf(b[0][0].row)).slice(0, NAMED);
  for (const entries of order) {
    const row = entries[0][0].row;
    const type = isFlop() && row.precision ? ' (' + workLabel(row) + ')' : '';
    const text = elide(row.shown_name, 26) + type;
    const place = placeOf(entries, widthOf(text), box, taken, segments);
    if (!place) continue;
    taken.push({ ...place, text: true });
    if (place.leader) {
      segments.push(place.leader);
      const [x1, y1, x2, y2] = place.leader.map((value) => value.toFixed(1));
      layer.append(drawn('line', { x1, y1, x2, y2, stroke: theme('faint'), 'stroke-width': 0.8 }));
    }
    layer.append(drawn('text', {
      x: place.left.toFixed(1), y: (place.bottom - 3).toFixed(1), 'font-size': LABEL_SIZE, fill: theme('ink'), stroke: theme('back'),
      'stroke-width': 3, 'paint-order': 'stroke', class: 'kernel-name',
    }, text));
  }
}

/** The selected kernel first, then the longest. */
const rankOf = (row) => (row.index === state.selected ? -1 : row.index);

/** Radius of a point with its ring, if it has one. */
const radius = (row) => size(row) / 2 + (row.index === state.selected ? 6 : 0);

/** A box for a name: beside a point, further from it, or, where neither is free, across a line. */
function placeOf(entries, width, box, taken, segments) {
  const clear = (place) => !segments.some(([x1, y1, x2, y2]) => clipped(x1, y1, x2, y2, place));
  const texts = taken.filter((each) => each.text);
  for (const [far, anywhere] of [[0, false], [14, false], [32, false], [0, true]]) {
    for (const [point, x, y] of entries) {
      const fits = (place) => anywhere || (clear(place) && !(far && texts.some((text) => clipped(...leader(x, y, place), text))));
      const place = free(x, y, radius(point.row) + far, width, box, taken, fits);
      if (place) return { ...place, leader: far ? leader(x, y, place) : null };
    }
  }
  return null;
}

/** The line from a point to the nearest edge of its name. */
const leader = (x, y, place) => [x, y, Math.max(place.left, Math.min(x, place.right)), Math.max(place.top, Math.min(y, place.bottom))];

/** A free box for a text beside a point: right, left, above, below. */
function free(x, y, half, width, box, taken, fits) {
  const high = LABEL_SIZE + 3;
  const places = [
    [x + half + 4, y - high / 2], [x - half - 4 - width, y - high / 2], [x - width / 2, y - half - 3 - high],
    [x - width / 2, y + half + 3], [x + half, y - half - high], [x + half, y + half],
    [x - half - width, y - half - high], [x - half - width, y + half],
  ];
  return places.map(([left, top]) => boxAt(left, top, width, high))
    .find((place) => inside(place, box) && !taken.some((other) => overlap(place, other)) && fits(place));
}

/** A ring around each point of the selected kernel, and of the one under the pointer; all that changes with it. */
function drawRings(plot, layer, picture) {
  const group = layer.querySelector('.rings');
  if (!group) return;
  group.replaceChildren();
  const { at, box } = placer(plot);
  for (const point of picture.points) {
    const { index } = point.row;
    if (index !== state.selected && index !== state.hovered) continue;
    const [x, y] = at(point.x, point.y / picture.factor);
    if (x < box.left || x > box.right || y < box.top || y > box.bottom) continue;
    group.append(drawn('circle', {
      cx: x.toFixed(1), cy: y.toFixed(1), r: (size(point.row) / 2 + 5).toFixed(1), fill: 'none', stroke: theme('focus'),
      'stroke-width': index === state.selected ? 3 : 2, class: 'ring',
    }));
  }
}
