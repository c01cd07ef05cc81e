// The verdict, the card at the pointer, the panel of the selected kernel, and provenance.

function drawVerdict() {
  const { verdict, warnings } = view();
  byId('time-text').textContent = verdict.time;
  byId('headroom-text').textContent = verdict.headroom;
  byId('compare-text').textContent = comparedText();
  byId('warnings').replaceChildren(...warnings.map((text) => element('li', {}, visible(text))));
  const total = verdict.limits.reduce((sum, entry) => sum + entry.seconds, 0);
  const bar = byId('time-bar');
  bar.replaceChildren(...verdict.limits.filter((entry) => entry.seconds > 0).map((entry) => {
    const part = element('span', { color: limitColor(entry.limit), title: entry.label });
    part.style.flexGrow = String(entry.seconds / total);
    return part;
  }));
  bar.hidden = !total;
  bar.setAttribute('aria-label', 'Time by limit: ' + verdict.limits.map((entry) => `${entry.label} ${percent(entry.seconds / total)}`).join(', '));
  byId('time-list').replaceChildren(...verdict.limits.map((entry) => element('li', {}, limitButton(entry, total))));
  drawFirst(verdict);
  drawLongest();
}

/** The comparison in one or two sentences; empty where there is none. */
function comparedText() {
  const whole = view().compared;
  if (!whole) return '';
  const [was, now] = whole.seconds;
  const sums = was === null || now === null ? '' : `: all kernels ${duration(was)} → ${duration(now)} (${now < was ? '−' : '+'}${percent(Math.abs(now / was - 1))})`;
  const verdicts = Object.entries(whole.verdicts).map(([name, number]) => `${count(number)} ${name}`).join(', ');
  const names = whole.gone.slice(0, 5).map(([name, seconds]) => `${visible(name)} (${known(seconds, duration)})`).join(', ');
  const more = whole.gone.length > 5 ? ` and ${count(whole.gone.length - 5)} more` : '';
  return `Compared with ${visible(whole.label)}${sums}; ${verdicts}.` + (names ? ` Gone: ${names}${more}.` : '');
}

/** A limit with its part of the time; pressed it is the only one that is shown. */
function limitButton(entry, total) {
  return element('button', { type: 'button', 'aria-pressed': String(state.limit === entry.label), onclick: () => {
    state.limit = state.limit === entry.label ? null : entry.label;
    refresh();
    for (const button of byId('time-list').querySelectorAll('button')) if (button.dataset.label === entry.label) button.focus();
  }, 'data-label': entry.label },
  element('span', { class: 'swatch', color: limitColor(entry.limit) }), element('span', {}, entry.label),
  element('span', {}, total ? percent(entry.seconds / total) : UNKNOWN), element('span', {}, duration(entry.seconds)),
  element('span', {}, counted(entry.kernels, 'kernel')));
}

/** Kernels that could save most, each with its first advice. */
function drawFirst(verdict) {
  const rows = rowsOf(view());
  byId('first-list').replaceChildren(...verdict.rows.map((index) => {
    const row = rows[index];
    const advice = row.advice && row.advice.length ? row.advice[0].text : row.verdict;
    return element('li', {},
      element('button', { type: 'button', class: 'link', onclick: () => select(index, { scroll: true }) }, nameElement(row.shown_name)),
      `: ${headroomText(row)} of ${known(row.seconds_total, duration)}, limit ${limitText(row)}`,
      advice ? element('span', { class: 'advice' }, visible(advice)) : null);
  }));
  if (!verdict.rows.length) byId('first-list').replaceChildren(element('li', {}, 'No kernel has a known bound above which time could be saved.'));
}

/** The kernels that take most time, each once. */
function drawLongest() {
  const rows = rowsOf(view()).filter((row, index, all) => row.seconds_total !== null && (!index || all[index - 1].number !== row.number)).slice(0, 5);
  byId('longest').replaceChildren(...rows.map((row) => element('li', {},
    element('button', { type: 'button', class: 'link', onclick: () => select(row.index, { scroll: true }) }, nameElement(row.shown_name)),
    element('span', {}, known(row.time_share, percent)), element('span', {}, duration(row.seconds_total)))));
}

/** The limit with its use; where it is unknown, the busiest resource that was counted. */
function limitText(row) {
  if (row.limit !== null) return `${row.limit_label} ${known(row.limit_use, percent)}`;
  const [name, part] = Object.entries(row.use || {}).sort((a, b) => b[1] - a[1])[0] || [];
  return name ? `${row.limit_label}, busiest counted is ${view().resources[name] || name} at ${percent(part)}` : row.limit_label;
}

// --- the card at the pointer ------------------------------------------------------------------------------------------

function showHover(index, level, x, y) {
  const row = rowsOf(view())[index];
  const at = chart.picture.points.find((each) => each.row === row && each.level === level);
  const card = byId('hover');
  const advice = row.advice && row.advice.length ? row.advice[0].text : row.verdict;
  card.replaceChildren(nameElement(elide(visible(row.kernel), 700)), element('dl', {}, ...facts(row, at)), usesElement(row, 5),
    advice ? element('p', { class: 'advice' }, visible(advice)) : '');
  card.hidden = false;
  const box = card.getBoundingClientRect();
  card.style.left = Math.max(8, x + 18 + box.width > window.innerWidth ? x - box.width - 18 : x + 18) + 'px';
  card.style.top = Math.max(8, Math.min(y + 12, window.innerHeight - box.height - 8)) + 'px';
  point(index);
}

function hideHover() {
  byId('hover').hidden = true;
  point(null);
}

/** Mark a kernel's points without selecting it; null marks none. */
function point(index) {
  if (state.hovered === index) return;
  state.hovered = index;
  drawRings(chart.plot, chart.layer, chart.picture);
}

/** Pairs of term and text on a row, and on one of its points. */
function facts(row, at) {
  const pairs = [
    ...(row.precision ? [['Type', workLabel(row)]] : []),
    ['Launches', count(row.launches)],
    ['Time', `${known(row.seconds, duration)} a launch, ${known(row.seconds_total, duration)} in all, ${known(row.time_share, percent)}`],
    ...beforeFacts(row),
    ['Limit', limitText(row)],
    ['Headroom', headroomText(row)],
  ];
  if (at) {
    const place = view().levels[at.level] || at.access;
    const rate = isFlop() && state.chart !== 'walls' ? prefixed(at.y, DATA.work_units[row.precision] || 'FLOP/s') : significant(at.y / 1e9) + ' GIPS';
    pairs.push([place, `intensity ${significant(at.x)}, ${rate}`]);
    if (at.caveat) pairs.push(['Caution', at.caveat]);
  }
  return pairs.flatMap(([term, text]) => [element('dt', {}, term), element('dd', {}, visible(text))]);
}

/** What a row was before the change; nothing where nothing is compared. */
function beforeFacts(row) {
  if (!view().compared) return [];
  if (!row.before) return [['Before', 'not there']];
  const { name, how, seconds, limit, use } = row.before;
  const called = name === row.short_name ? '' : `${visible(name)}, matched by ${how}; `;
  return [['Before', `${called}${known(seconds, duration)} a launch (${changeText(row)}), limit ${limit} ${known(use, percent)}`]];
}

/** Bars of the resources that are used most; all that are used where `most` is not given. */
function usesElement(row, most) {
  const used = Object.entries(row.use || {}).filter(([, part]) => part >= 5e-4).sort((a, b) => b[1] - a[1]).slice(0, most);
  return element('div', { class: 'uses' }, ...used.flatMap(([name, part]) => {
    const bar = element('span', {});
    bar.style.width = Math.min(100, part * 100) + '%';
    return [element('span', {}, view().resources[name] || name), element('span', { class: 'use', 'aria-hidden': 'true' }, bar), element('span', {}, percent(part))];
  }));
}

// --- the selected kernel ----------------------------------------------------------------------------------------------

function drawDetails() {
  const panel = byId('details');
  const row = state.selected === null ? null : rowsOf(view())[state.selected];
  panel.classList.toggle('filled', Boolean(row));
  if (!row) {
    panel.replaceChildren(element('h3', {}, 'No kernel selected'),
      element('p', { class: 'hint' }, 'Select a point, a row of the table, or a kernel above: its uses, verdict and advice appear here.'));
    return;
  }
  const full = element('div', { class: 'full name', tabindex: 0, role: 'region', 'aria-label': 'Full name' }, nameElement(row.kernel, 'full-name'));
  panel.replaceChildren(
    element('h3', {}, nameElement(row.shown_name)), buttons(row), full,
    element('dl', {}, ...facts(row), ...launchFacts(row), ...pointFacts(row)),
    element('h3', {}, 'Use of each resource'), usesElement(row),
    ...(row.verdict ? [element('h3', {}, 'Verdict'), element('p', {}, visible(row.verdict))] : []),
    ...(row.advice && row.advice.length ? [element('h3', {}, 'Advice'), element('ul', {}, ...row.advice.map((entry) => element('li', {}, visible(entry.text))))] : []),
  );
}

function buttons(row) {
  const alone = state.alone === row.number;
  return element('div', { class: 'row' },
    element('button', { type: 'button', id: 'isolate', 'aria-pressed': String(alone), onclick: toggleAlone }, alone ? 'Show all kernels' : 'Isolate'),
    element('button', { type: 'button', onclick: () => navigator.clipboard?.writeText(row.kernel).then(() => announce('Name copied'), () => announce('The browser does not allow copying')) }, 'Copy name'),
    element('button', { type: 'button', onclick: leaveSelection }, 'Deselect'));
}

function launchFacts(row) {
  const pairs = [['Grid', row.grid], ['Block', row.block], ['Clock', known(row.sm_clock_hz, (hz) => prefixed(hz, 'Hz'))]];
  if (row.seconds_min !== null && row.seconds_max !== null && row.launches > 1) {
    pairs.unshift(['Launches took', `${duration(row.seconds_min)} to ${duration(row.seconds_max)}`]);
  }
  if (row.lost_fraction !== undefined) pairs.push(['Lost lanes', known(row.lost_fraction, percent)]);
  return pairs.filter(([, text]) => text !== null && text !== undefined && text !== UNKNOWN)
    .flatMap(([term, text]) => [element('dt', {}, term), element('dd', {}, visible(text))]);
}

/** Intensity at each level, or why there is no point. */
function pointFacts(row) {
  const reasons = new Set(Object.keys(view().levels).map((level) => (row.missing || {})[level]));
  if (reasons.size === 1 && !reasons.has(undefined)) {
    return [element('dt', {}, 'No point'), element('dd', {}, visible([...reasons][0]))];
  }
  return Object.entries(view().levels).flatMap(([level, label]) => {
    const value = row[level + '_intensity'];
    const why = (row.missing || {})[level];
    const text = value !== null && value !== undefined ? significant(value) : why || UNKNOWN;
    return [element('dt', {}, label + ' intensity'), element('dd', {}, visible(text))];
  });
}

// --- provenance -------------------------------------------------------------------------------------------------------

function drawProvenance() {
  byId('provenance').replaceChildren(...capture().provenance.flatMap(([term, text]) => [
    element('dt', {}, term === 'roofctl' ? term : capitalised(term)), element('dd', {}, visible(text)),
  ]));
  const rows = [];
  for (const each of capture().views) {
    for (const entry of each.document.ceilings) {
      const cells = ceilingCells(each, entry);
      if (!rows.some((row) => row.join() === cells.join())) rows.push(cells);
    }
  }
  const table = byId('ceiling-table');
  table.tHead.replaceChildren(element('tr', {}, ...['Ceiling', 'Kind', 'Rate', 'Source'].map((text) => element('th', { scope: 'col' }, text))));
  table.tBodies[0].replaceChildren(...rows.map((cells) => element('tr', {}, ...cells.map((text) => element('td', {}, visible(text))))));
  byId('all-ceilings').hidden = !rows.length;
  const notes = [...new Set([...view().document.notes, ...(state.chart === 'walls' ? capture().walls.notes : [])])];
  byId('notes').replaceChildren(...notes.map((text) => element('li', {}, visible(text))));
}

function ceilingCells(each, entry) {
  const name = entry.level === 'issue' ? 'Instruction issue' : DATA.works[entry.level] || each.levels[entry.level] || entry.level;
  if (entry.absent !== undefined) return [name, entry.basis, 'not known', entry.absent];
  const rate = entry.bytes_per_second !== undefined ? prefixed(entry.bytes_per_second, 'B/s')
    : entry.warp_instructions_per_second !== undefined ? significant(entry.warp_instructions_per_second / 1e9) + ' GIPS'
      : prefixed(entry.flops_per_second, DATA.work_units[entry.level] || 'FLOP/s');
  return [name, entry.basis, rate + (entry.clock_hz ? ` at ${prefixed(entry.clock_hz, 'Hz')}` : ''), entry.origin || UNKNOWN];
}

const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);
