// The table of kernels: sorted, filtered, in pages, and linked with the points.

/** Columns: key, heading, cell text, whether it is text, and what it means. */
function tableColumns() {
  const levelsOf = Object.entries(view().levels);
  const use = (name) => (row) => known(row.use[name], percent);
  const text = (key) => ({ key, text: true });
  const flop = isFlop();
  return [
    { key: 'index', head: '#', cell: (row) => count(row.index + 1), hint: 'by total time, the longest first' },
    { ...text('short_name'), head: 'kernel' },
    ...(flop ? [{ ...text('precision'), head: 'type', cell: (row) => workLabel(row) || UNKNOWN }] : []),
    { key: 'launches', head: 'launches', cell: (row) => count(row.launches) },
    { key: 'seconds', head: 'time', cell: (row) => known(row.seconds, duration), hint: 'mean of one launch' },
    ...(view().compared ? [
      { key: 'before', head: 'before', value: (row) => row.before && row.before.seconds, cell: (row) => (row.before ? known(row.before.seconds, duration) : UNKNOWN), hint: 'mean of one launch before the change' },
      { key: 'change', head: 'change', value: (row) => row.before && row.before.ratio, cell: changeText, hint: 'of the time; ≈ is within noise' },
    ] : []),
    { key: 'seconds_total', head: 'total', cell: (row) => known(row.seconds_total, duration), hint: 'all launches' },
    { key: 'time_share', head: 'share', cell: (row) => known(row.time_share, percent), hint: 'of the time of all kernels' },
    { ...text('limit_label'), head: 'limit', hint: 'what limits the kernel' },
    { key: 'limit_use', head: 'use', cell: (row) => known(row.limit_use, percent), hint: 'used part of that resource' },
    { key: 'headroom_seconds', head: 'headroom', cell: headroomText, hint: 'time above the longest known bound' },
    ...(flop ? [
      { key: 'flops_per_second', head: 'rate', cell: (row) => known(row.flops_per_second, (rate) => prefixed(rate, DATA.work_units[row.precision] || 'FLOP/s')) },
      { key: 'of_peak', head: '% peak', cell: (row) => known(row.of_peak, percent), hint: 'of the peak of the type' },
    ] : [{ key: 'use.issue', head: 'issue', value: (row) => row.use.issue, cell: use('issue'), hint: 'use of the issue slots' }]),
    ...levelsOf.map(([level, label]) => ({ key: 'use.' + level, head: label, value: (row) => row.use[level], cell: use(level), hint: 'use of ' + label })),
    ...(flop ? [] : [
      { key: 'gips', head: 'GIPS', cell: (row) => known(row.gips, significant), hint: '10⁹ warp instructions per second' },
      { key: 'lost_fraction', head: 'lost', cell: (row) => known(row.lost_fraction, percent), hint: 'part of the issue lost to idle lanes' },
    ]),
    ...levelsOf.map(([level, label]) => ({
      key: level + '_intensity', head: label + ' int.', cell: (row) => known(row[level + '_intensity'], significant), hint: 'intensity at ' + label,
    })),
    ...(new Set(rowsOf(view()).map((row) => row.source)).size > 1 ? [{ ...text('source'), head: 'source' }] : []),
  ];
}

/** Less than all that is not known is shown with a sign. */
function headroomText(row) {
  return known(row.headroom_seconds, (seconds) => (row.all_counted ? '' : '<') + duration(seconds));
}

function sorted(rows, columns) {
  const column = columns.find((each) => each.key === state.sort.key) || columns[0];
  const value = column.value || ((row) => row[column.key]);
  const way = state.sort.down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [one, other] = [value(a), value(b)];
    // What is not known comes last in both directions.
    if (one === null || one === undefined) return other === null || other === undefined ? 0 : 1;
    if (other === null || other === undefined) return -1;
    if (typeof one === 'string') return way * one.localeCompare(other);
    return way * (one - other) || a.index - b.index;
  });
}

function drawTable() {
  const table = byId('table');
  const columns = tableColumns();
  const rows = sorted(shownRows(), columns);
  table.tHead.replaceChildren(element('tr', {}, ...columns.map(headCell)));
  const body = document.createDocumentFragment();
  for (const row of rows.slice(0, state.most)) body.append(rowElement(row, columns));
  table.tBodies[0].replaceChildren(body);
  const all = rowsOf(view());
  const share = all.some((row) => row.time_share !== null) ? `, ${percent(shareOf(rows))} of the time` : '';
  byId('count').textContent = `${count(kernelsOf(rows))} of ${counted(kernelsOf(all), 'kernel')}${share}`;
  byId('more').hidden = rows.length <= state.most;
  byId('more').textContent = `Show ${count(Math.min(1000, rows.length - state.most))} more of ${count(rows.length)} rows`;
  markRow();
}

function headCell(column) {
  const own = column.key === state.sort.key;
  const cell = element('th', { scope: 'col', class: column.text ? 'text' : null, 'aria-sort': own ? (state.sort.down ? 'descending' : 'ascending') : null });
  const button = element('button', { type: 'button', title: column.hint, 'data-key': column.key }, column.head);
  button.addEventListener('click', () => {
    state.sort = { key: column.key, down: own ? !state.sort.down : !column.text && column.key !== 'index' };
    drawTable();
    byId('table').tHead.querySelector(`[data-key="${CSS.escape(column.key)}"]`).focus();
  });
  cell.append(button);
  return cell;
}

function rowElement(row, columns) {
  const made = element('tr', { 'data-row': row.index });
  for (const column of columns) {
    if (column.key === 'short_name') {
      const name = nameElement(row.shown_name);
      made.append(element('th', { scope: 'row' }, element('button', { type: 'button', class: 'link', title: elide(visible(row.kernel), 400) }, name)));
    } else if (column.key === 'limit_label') {
      made.append(element('td', { class: 'text' }, element('span', { class: 'swatch', color: limitColor(row.limit) }), row.limit_label));
    } else {
      made.append(element('td', { class: column.text ? 'text' : null }, column.cell ? column.cell(row) : visible(row[column.key] ?? UNKNOWN)));
    }
  }
  return made;
}

/** Mark the rows of the selected kernel. */
function markRow() {
  for (const row of byId('table').tBodies[0].rows) {
    const own = Number(row.dataset.row) === state.selected;
    row.classList.toggle('selected', own);
    if (own) row.setAttribute('aria-current', 'true');
    else row.removeAttribute('aria-current');
  }
}

function startTable() {
  const body = byId('table').tBodies[0];
  const rowOf = (event) => event.target.closest('tr[data-row]');
  body.addEventListener('click', (event) => rowOf(event) && select(Number(rowOf(event).dataset.row)));
  body.addEventListener('mouseover', (event) => rowOf(event) && point(Number(rowOf(event).dataset.row)));
  body.addEventListener('mouseleave', () => point(null));
  body.addEventListener('focusin', (event) => rowOf(event) && point(Number(rowOf(event).dataset.row)));
  body.addEventListener('keydown', (event) => {
    const next = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[event.key];
    const row = next && rowOf(event)?.[next];
    if (row) stop(event, () => row.querySelector('button').focus());
  });
  byId('more').addEventListener('click', () => {
    state.most += 1000;
    drawTable();
  });
}

/** Rows as CSV in the order of the table, with the columns of `report --format csv`. */
function csvText() {
  const names = Object.keys(view().columns);
  const cell = (name, value) => {
    let text = value;
    if (name === 'use') text = Object.entries(value).map(([use, part]) => `${use}=${Number(part.toPrecision(4))}`).join('; ');
    if (name === 'advice') text = (value || []).map((entry) => entry.text).join(' | ');
    if (text === null || text === undefined) return '';
    if (text === true || text === false) return text ? 'True' : 'False';
    return /[",\r\n]/.test(text) ? '"' + String(text).replaceAll('"', '""') + '"' : String(text);
  };
  const rows = sorted(shownRows(), tableColumns());
  return [names.join(','), ...rows.map((row) => names.map((name) => cell(name, row[name])).join(','))].join('\n') + '\n';
}
