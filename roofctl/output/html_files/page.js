// Controls, selection, theme, downloads, and the start of the page.

/** Draw everything anew that depends on what was chosen. */
function refresh() {
  syncControls();
  drawVerdict();
  drawChart();
  drawDetails();
  drawTable();
  drawProvenance();
  byId('title').textContent = titleText();
  byId('subtitle').textContent = subtitleText();
  document.title = titleText() + ' – roofctl';
}

const titleText = () => visible(DATA.title || capture().label);

function subtitleText() {
  const { gpu } = view().document;
  const parts = [visible(gpu.name || gpu.profile || 'GPU not known')];
  if (gpu.sm_clock_hz) parts.push(`SM ${prefixed(gpu.sm_clock_hz, 'Hz')}, ${gpu.sm_clock_origin}`);
  parts.push(view().basis ? `${state.ceilings} ceilings` : 'no ceilings: name the GPU with --profile');
  return parts.join(' · ');
}

// --- selection --------------------------------------------------------------------------------------------------------

/** Select the kernel of a row: its details, its points, its row. */
function select(index, { scroll = false, quiet = false } = {}) {
  state.selected = index;
  const row = rowsOf(view())[index];
  if (!chart.focus || chart.focus.index !== index) chart.focus = { index, level: (chart.picture.points.find((each) => each.row === row) || {}).level };
  drawDetails();
  markRow();
  relabel();
  if (!quiet) announce(`Selected ${visible(row.short_name)}: ${spoken(row)}`);
  if (scroll) byId('chart-heading').scrollIntoView({ block: 'start' });
}

function leaveSelection() {
  state.alone = null;
  state.selected = null;
  chart.focus = null;
  refresh();
  announce('All kernels');
}

/** Show the selected kernel alone, at every level; or all again. */
function toggleAlone() {
  const row = state.selected === null ? null : rowsOf(view())[state.selected];
  const inPanel = document.activeElement && document.activeElement.id === 'isolate';
  state.alone = row && state.alone !== row.number ? row.number : null;
  refresh();
  if (inPanel && byId('isolate')) byId('isolate').focus();
  announce(state.alone === null ? 'All kernels' : `Only ${visible(row.short_name)}`);
}

function announce(text) {
  byId('live').textContent = elide(text, 400);
}

// --- controls ---------------------------------------------------------------------------------------------------------

/** Make the controls show the state, and allow only what the data has. */
function syncControls() {
  const views = capture().views;
  const model = view().model;
  state.model = model;
  if (model === 'flop') state.chart = 'roofline';
  else if (state.color === 'type') state.color = 'limit';
  const bases = new Set(views.filter((each) => each.model === model).map((each) => each.basis));
  if (!bases.has(state.ceilings) && !(state.ceilings === 'both' && bases.size > 1)) state.ceilings = view().basis || state.ceilings;
  for (const [name, value] of [['chart', state.chart], ['model', model], ['ceilings', state.ceilings], ['axes', state.log ? 'log' : 'linear'], ['color', state.color], ['space', state.space]]) {
    for (const input of document.querySelectorAll(`input[name="${name}"]`)) input.checked = input.value === value;
  }
  for (const input of document.querySelectorAll('input[name="model"]')) input.disabled = !views.some((each) => each.model === input.value);
  for (const input of document.querySelectorAll('input[name="ceilings"]')) input.disabled = input.value === 'both' ? bases.size < 2 : !bases.has(input.value);
  document.querySelector('input[name="chart"][value="walls"]').disabled = !capture().walls.points.some((points) => points.length);
  byId('levels').hidden = state.chart === 'walls' || state.alone !== null;
  byId('spaces').hidden = state.chart !== 'walls';
  byId('ceilings').hidden = !view().basis;
  byId('color-type').hidden = model !== 'flop';
  byId('compared').hidden = !view().compared || state.chart === 'walls';
  byId('before').checked = state.before;
  byId('absent').textContent = absentText();
  syncBoxes('levels', Object.entries(view().levels), (level) => state.levels.has(level), toggleLevel);
  const works = worksOf(view());
  byId('precisions').hidden = !works.length;
  syncBoxes('precisions', works.map((work) => [work, DATA.works[work] || work]), (work) => state.works === null || state.works.has(work), toggleWork);
  byId('share-text').textContent = shareText();
  byId('share').value = String(state.share);
  byId('share').setAttribute('aria-valuetext', shareText());
}

/** Which rooflines there are not, and why; each reason once. */
function absentText() {
  const reasons = new Map();
  for (const [name, why] of Object.entries(capture().absent)) {
    const [model, ...basis] = name.split(' ');
    if (!reasons.has(why)) reasons.set(why, { model: model === 'flop' ? 'FLOP' : model, bases: [] });
    reasons.get(why).bases.push(...basis);
  }
  return [...reasons].map(([why, { model, bases }]) => `No ${model} roofline${bases.length === 1 ? ' with ' + bases[0] + ' ceilings' : ''}: ${visible(why)}.`).join(' ');
}

/** Check boxes in a field set; they are made only when their names change, so that focus stays. */
function syncBoxes(id, entries, checked, toggle) {
  const fieldset = byId(id);
  const names = entries.map(([name]) => name).join(' ');
  if (fieldset.dataset.names !== names) {
    fieldset.dataset.names = names;
    for (const label of [...fieldset.querySelectorAll('label')]) label.remove();
    for (const [name, text] of entries) {
      const input = element('input', { type: 'checkbox', value: name });
      input.addEventListener('change', () => toggle(name));
      fieldset.append(element('label', {}, input, ' ' + text));
    }
  }
  for (const input of fieldset.querySelectorAll('input')) input.checked = checked(input.value);
}

function toggleLevel(level) {
  if (!state.levels.delete(level)) state.levels.add(level);
  refresh();
}

function toggleWork(work) {
  const all = worksOf(view());
  const chosen = new Set(state.works === null ? all : state.works);
  if (!chosen.delete(work)) chosen.add(work);
  state.works = chosen.size === all.length ? null : chosen;
  refresh();
}

function shareText() {
  const rows = rowsOf(view());
  if (!rows.some((row) => row.time_share !== null)) return 'no times are known';
  const kept = rows.filter((row) => row.time_share === null || row.time_share >= SHARES[state.share]);
  const least = SHARES[state.share] ? `${Number((SHARES[state.share] * 100).toPrecision(2))}%` : 'all';
  return `${least}: ${count(kernelsOf(kept))} of ${counted(kernelsOf(rows), 'kernel')}, ${percent(shareOf(kept))} of the time`;
}

/** Change the state and draw; the selected kernel stays selected in another view. */
function choose(change) {
  const before = state.selected === null ? null : rowsOf(view())[state.selected];
  change();
  if (before) {
    const same = rowsOf(view()).find((row) => row.number === before.number);
    state.selected = same ? same.index : null;
  }
  refresh();
}

function startControls() {
  const radios = {
    chart: (value) => { state.chart = value; if (value === 'walls') state.model = 'instruction'; },
    model: (value) => { state.model = value; state.works = null; },
    ceilings: (value) => { state.ceilings = value; },
    axes: (value) => { state.log = value === 'log'; },
    color: (value) => { state.color = value; },
    space: (value) => { state.space = value; },
  };
  for (const [name, change] of Object.entries(radios)) {
    for (const input of document.querySelectorAll(`input[name="${name}"]`)) input.addEventListener('change', () => choose(() => change(input.value)));
  }
  byId('share').max = String(SHARES.length - 1);
  byId('before').addEventListener('change', () => choose(() => { state.before = byId('before').checked; }));
  byId('share').addEventListener('input', () => choose(() => { state.share = Number(byId('share').value); }));
  byId('filter').addEventListener('input', later(() => choose(() => { state.filter = byId('filter').value; })));
  byId('reset').addEventListener('click', () => choose(() => {
    Object.assign(state, { filter: '', limit: null, alone: null, share: 0, works: null });
    byId('filter').value = '';
  }));
  byId('capture').replaceChildren(...DATA.captures.map((each, index) => element('option', { value: index }, elide(visible(each.label), 60))));
  byId('capture-choice').hidden = DATA.captures.length < 2;
  byId('capture').addEventListener('change', () => {
    Object.assign(state, { capture: Number(byId('capture').value), alone: null, selected: null, limit: null, works: null });
    refresh();
  });
}

/** The function, once after calls have stopped for a moment. */
function later(action) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, 120);
  };
}

// --- theme, print, downloads ------------------------------------------------------------------------------------------

const prefersDark = matchMedia('(prefers-color-scheme: dark)');

function darkNow() {
  if (state.printing) return false;
  const own = document.documentElement.dataset.theme;
  return own ? own === 'dark' : prefersDark.matches;
}

function startTheme() {
  const named = () => { byId('theme').textContent = darkNow() ? 'Light' : 'Dark'; };
  byId('theme').addEventListener('click', () => {
    document.documentElement.dataset.theme = darkNow() ? 'light' : 'dark';
    named();
    refresh();
  });
  prefersDark.addEventListener('change', () => { named(); refresh(); });
  named();
  byId('print').addEventListener('click', () => window.print());
  window.addEventListener('beforeprint', () => printing(true));
  window.addEventListener('afterprint', () => printing(false));
}

/** On paper the picture is light and has the width of the page. */
function printing(on) {
  state.printing = on;
  const own = document.documentElement.dataset.theme;
  if (on) {
    state.theme = own;
    document.documentElement.dataset.theme = 'light';
  } else if (state.theme) document.documentElement.dataset.theme = state.theme;
  else delete document.documentElement.dataset.theme;
  byId('all-ceilings').open = on;
  drawChart();
  if (!on) Plotly.Plots.resize(chart.plot);
}

function save(name, content, type) {
  const link = element('a', { download: name, href: URL.createObjectURL(new Blob([content], { type })) });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  announce(`Saved ${name}`);
}

/** A file name from the capture's: letters, digits and a few signs only. */
function fileName(suffix) {
  const stem = capture().label.replace(/\.[A-Za-z-]+$/, '').replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 60);
  return `${stem || 'roofctl'}-${view().model}${suffix}`;
}

function startDownloads() {
  byId('save-svg').addEventListener('click', async () => save(fileName('.svg'), await svgText(), 'image/svg+xml'));
  byId('save-png').addEventListener('click', async () => save(fileName('.png'), await pngBlob(), 'image/png'));
  byId('save-json').addEventListener('click', () => save(fileName('.json'), JSON.stringify(documentOf(view()), null, 2) + '\n', 'application/json'));
  byId('save-csv').addEventListener('click', () => save(fileName('.csv'), csvText(), 'text/csv'));
}

if (!state.levels.size) for (const level of kernelsOf(rowsOf(view())) > 1 ? ['hbm'] : Object.keys(view().levels)) state.levels.add(level);
startChart();
startControls();
startTable();
startTheme();
startDownloads();
[state.selected = null] = view().verdict.rows;
refresh();
byId('chart').dataset.ready = 'true';
