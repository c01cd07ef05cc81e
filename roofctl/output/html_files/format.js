// Numbers and names as text, and elements. Nothing here parses markup: text is only ever set as text.

const UNKNOWN = '–';
const STEERING = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]/gu;

/** Text with characters that hide or reorder text spelled out. */
function visible(text) {
  return String(text).replace(STEERING, (char) => {
    const code = char.charCodeAt(0);
    return code < 256 ? '\\x' + code.toString(16).padStart(2, '0') : '\\u' + code.toString(16).padStart(4, '0');
  });
}

/** Text cut in its middle to at most `width` characters. */
function elide(text, width) {
  const chars = Array.from(text);
  if (chars.length <= width) return text;
  const head = Math.ceil((width - 1) / 2);
  return chars.slice(0, head).join('') + '…' + chars.slice(chars.length - (width - 1 - head)).join('');
}

function significant(value, digits = 4) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const exponent = Number(value.toExponential(digits - 1).split('e')[1]);
  const decimals = Math.max(0, digits - 1 - exponent);
  return decimals > digits + 4 ? value.toExponential(digits - 1) : value.toFixed(decimals);
}

function scaled(value, unit, steps, digits) {
  const rounded = Math.abs(Number(value.toPrecision(digits)));
  const [factor, prefix] = steps.find(([each]) => rounded >= each) || steps[steps.length - 1];
  return significant(value / factor, digits) + ' ' + prefix + unit;
}

function prefixed(value, unit, digits = 4) {
  return scaled(value, unit, [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']], digits);
}

function duration(seconds) {
  return scaled(seconds, '', [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']], 4);
}

function percent(fraction) {
  if (fraction > 0 && fraction < 0.0005) return '<0.1%';
  return (fraction * 100).toFixed(fraction < 0.9995 ? 1 : 0) + '%';
}

/** A value as `show` writes it, or a dash where it is not known. */
function known(value, show) {
  return value === null || value === undefined ? UNKNOWN : show(value);
}

const count = (value) => value.toLocaleString('en-US');
const counted = (value, word) => `${count(value)} ${word}${value === 1 ? '' : 's'}`;

/** An element with attributes and children; strings among the children become text nodes. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === 'onclick') made.addEventListener('click', value);
    else if (name === 'color') made.style.background = value;
    else made.setAttribute(name, value === true ? '' : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A name that a capture gives, isolated from the direction of the text around it. */
function nameElement(text, kind = 'name') {
  const made = element('bdi', { class: kind });
  made.textContent = visible(text);
  return made;
}

const SVG = 'http://www.w3.org/2000/svg';

function drawn(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

function byId(id) {
  return document.getElementById(id);
}
