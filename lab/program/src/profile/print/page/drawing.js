// What both kinds of pictures need: numbers that are in the page, words, colours, canvases, hints.
let tip;
const LEFT = 76, RIGHT = 8, BOTTOM = 20;

// Numbers.
const unpack = async (number) => {
  const text = atob(document.getElementById(`packed-${number}`).textContent);
  const packed = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) packed[at] = text.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
};
const amount = new Float64Array(65536).map((_, code) => (code === 0 ? 0 : 2 ** ((code >> 10) - 1) * (1 + (code & 1023) / 1024)));
const numbers = (buffer, place) => {
  const values = new Float32Array(place.length);
  if (place.width === 1) {
    const shares = new Uint8Array(buffer, place.at, place.length);
    for (let at = 0; at < values.length; at++) values[at] = shares[at] / 250;
  } else {
    const codes = new Uint16Array(buffer, place.at, place.length);
    for (let at = 0; at < values.length; at++) values[at] = amount[codes[at]];
  }
  return values;
};

// Words.
const digits = (value) => value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
const scaled = (value, units) => {
  let step = 0;
  while (value >= 999.5 && step + 1 < units.length) { value /= 1000; step++; }
  return `${step === 0 && Number.isInteger(value) ? value : digits(value)} ${units[step]}`;
};
const bytes = (value) => scaled(value, ["B", "kB", "MB", "GB", "TB", "PB"]);
const rate = (value) => `${bytes(value)}/s`;
const count = (value) => scaled(value, ["", "k", "M", "G"]).trim();
const percent = (value) => `${Number((100 * value).toFixed(1))} %`;
const seconds = (value, span) => {
  const places = span < 0.05 ? 4 : span < 0.5 ? 3 : span < 5 ? 2 : span < 50 ? 1 : 0;
  return `${value.toFixed(places)} s`;
};

// Colours of the theme, as the browser has worked them out.
const colour = (name) => {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  probe.remove();
  return found;
};
let theme;
const readTheme = () => {
  theme = { sheet: colour("sheet"), ink: colour("ink"), soft: colour("soft"), line: colour("line"), faint: colour("faint"), mark: colour("mark") };
  const dark = theme.sheet[0] < 128;
  theme.lines = dark ? ["#ff7f45", "#58aee8", "#2fc39c", "#f0b429", "#e58fc1", "#a99bea", "#b4bcc8", "#9fd4f7"]
    : ["#d04a02", "#0067a8", "#00846a", "#b8860b", "#b5478c", "#5b4b9a", "#4b5563", "#5fa8d8"];
  // From nothing to all, by way of a middle that differs from both ends.
  const stops = dark ? [theme.sheet, [24, 74, 110], [88, 174, 232], [240, 180, 41], [255, 240, 200]]
    : [theme.sheet, [190, 220, 240], [0, 103, 168], [150, 40, 90], [90, 10, 10]];
  theme.heat = Uint32Array.from({ length: 256 }, (_, at) => {
    const place = (at / 255) * (stops.length - 1), low = Math.min(Math.floor(place), stops.length - 2), part = place - low;
    const [r, g, b] = [0, 1, 2].map((c) => Math.round(stops[low][c] + (stops[low + 1][c] - stops[low][c]) * part));
    return (255 << 24) | (b << 16) | (g << 8) | r;
  });
};
const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;

// The colours of heat, as a scale between two words.
const paintScales = () => {
  for (const scale of document.querySelectorAll(".scale i")) {
    const stops = Array.from({ length: 9 }, (_, at) => theme.heat[Math.round((at * 255) / 8)]);
    scale.style.background = `linear-gradient(90deg, ${stops.map((c) => css([c & 255, (c >> 8) & 255, (c >> 16) & 255])).join(", ")})`;
  }
};

// A canvas with as many pixels as the screen has for it.
const prepare = (canvas, height) => {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  return { context, width, height };
};
const roundStep = (rough) => {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
};
const showTip = (event, title, lines) => {
  const head = document.createElement("b");
  head.textContent = title;
  tip.replaceChildren(head, ...lines.map(([colourOf, text]) => {
    const row = document.createElement("div");
    if (colourOf) { const dot = document.createElement("i"); dot.style.background = colourOf; row.append(dot); }
    row.append(text);
    return row;
  }));
  tip.hidden = false;
  const fits = event.clientX + 18 + tip.offsetWidth < document.documentElement.clientWidth;
  tip.style.left = `${Math.max(0, window.scrollX + event.clientX + (fits ? 18 : -18 - tip.offsetWidth))}px`;
  tip.style.top = `${window.scrollY + event.clientY + 14}px`;
};
const hideTip = () => { tip.hidden = true; };

// Least, mean and greatest of a series between two times.
const between = (layer, from, to, offset = 0, length = layer.values.length) => {
  const first = Math.max(0, Math.min(length - 1, Math.floor(from / layer.bin)));
  const last = Math.max(first + 1, Math.min(length, Math.ceil(to / layer.bin)));
  let least = Infinity, greatest = -Infinity, sum = 0;
  for (let at = first; at < last; at++) {
    const value = layer.values[offset + at];
    sum += value;
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  return { least, greatest, mean: sum / (last - first) };
};
