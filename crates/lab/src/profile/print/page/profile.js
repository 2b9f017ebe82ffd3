// Draws what changed over time, and who sends to whom, from numbers that are in the page.
(() => {
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
    // From nothing to all, by way of a middle that both ends can be told from.
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

  class Timeline {
    constructor(section, told, buffer) {
      this.section = section;
      this.seconds = told.seconds;
      this.ranks = told.ranks;
      [this.from, this.to] = [0, told.seconds];
      const read = (layer) => ({ ...layer, values: numbers(buffer, layer.data) });
      this.sums = told.sums.map(read);
      this.layers = told.layers.map(read);
      this.rails = told.rails.map(read);
      this.step = Math.min(...this.sums.map((sum) => sum.bin));
      this.canvas = Object.fromEntries([...section.querySelectorAll("canvas")].map((canvas) => [canvas.dataset.panel, canvas]));
      this.output = section.querySelector("output");
      this.scale = section.querySelector(".scale output");
      this.choices();
      this.listen();
    }

    choices() {
      const [host, layer] = ["host", "layer"].map((name) => this.section.querySelector(`[data-select=${name}]`));
      const hosts = [...new Set(this.rails.map((rail) => rail.host))];
      const option = (select, value, text) => select.append(new Option(text, value));
      if (hosts.length > 1) option(host, "", `all ${hosts.length}, added up`);
      hosts.forEach((name) => option(host, name, name));
      const title = { "MPI, us": "share of time in MPI", sent: "bytes sent in MPI", received: "bytes received in MPI" };
      this.layers.forEach((known, at) => option(layer, at, title[known.name] || `bytes over ${known.name}`));
      [this.host, this.layer] = [host, layer];
      [host, layer].forEach((select) => select.addEventListener("change", () => this.draw()));
      if (hosts.length === 0) this.section.querySelector(".rails").remove();
    }

    listen() {
      const zoom = (factor, at = (this.from + this.to) / 2) => this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
      for (const button of this.section.querySelectorAll("[data-zoom]")) {
        button.addEventListener("click", () => {
          if (button.dataset.zoom === "all") this.show(0, this.seconds);
          else zoom(button.dataset.zoom === "in" ? 0.5 : 2);
        });
      }
      for (const canvas of Object.values(this.canvas)) {
        const time = (event) => this.time(event.clientX - canvas.getBoundingClientRect().left, canvas.clientWidth);
        canvas.addEventListener("pointerdown", (event) => {
          if (event.button !== 0) return;
          this.drag = { canvas, from: time(event), to: time(event) };
          canvas.setPointerCapture(event.pointerId);
        });
        canvas.addEventListener("pointermove", (event) => {
          if (this.drag) { this.drag.to = time(event); this.draw(); }
          this.tell(canvas, event, time(event));
        });
        canvas.addEventListener("pointerup", () => {
          const drag = this.drag;
          this.drag = null;
          const [from, to] = drag ? [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)] : [0, 0];
          const wide = to - from > (this.to - this.from) / 200;
          if (wide) this.show(from, to); else this.draw();
        });
        canvas.addEventListener("pointercancel", () => { this.drag = null; this.draw(); });
        canvas.addEventListener("pointerleave", hideTip);
        canvas.addEventListener("dblclick", () => this.show(0, this.seconds));
        canvas.addEventListener("wheel", (event) => {
          if (!event.ctrlKey) return;
          event.preventDefault();
          zoom(event.deltaY > 0 ? 1.25 : 0.8, time(event));
        }, { passive: false });
      }
    }

    show(from, to) {
      const span = Math.min(this.seconds, Math.max(to - from, 10 * this.step));
      const middle = (from + to) / 2;
      this.from = Math.max(0, Math.min(middle - span / 2, this.seconds - span));
      this.to = this.from + span;
      this.draw();
    }

    time(x, width) {
      const part = (x - LEFT) / (width - LEFT - RIGHT);
      return this.from + Math.max(0, Math.min(1, part)) * (this.to - this.from);
    }

    x(time, width) { return LEFT + ((time - this.from) / (this.to - this.from)) * (width - LEFT - RIGHT); }

    draw() {
      const span = this.to - this.from;
      this.output.textContent = `${seconds(this.from, span)} to ${seconds(this.to, span)} of ${seconds(this.seconds, this.seconds)}`;
      const curve = (layer, paint, name) => ({ layer, paint, name, down: name.endsWith("received") });
      this.curves("share", [curve(this.sums[0], theme.lines[0], "in MPI")], percent, 1);
      this.curves("bytes", [curve(this.sums[1], theme.lines[1], "sent"), curve(this.sums[2], theme.lines[2], "received")], rate);
      if (this.rails.length > 0) this.curves("rails", this.railCurves(curve), rate);
      this.heat();
    }

    // One curve for each interface and direction: of a host, or of all hosts added up. An interface has one colour.
    railCurves(curve) {
      const sums = new Map();
      for (const rail of this.rails) {
        if (this.host.value && rail.host !== this.host.value) continue;
        const known = sums.get(rail.name);
        if (!known) { sums.set(rail.name, rail); continue; }
        sums.set(rail.name, { ...known, values: known.values.map((value, at) => value + (rail.values[at] || 0)) });
      }
      const alone = (name) => name.replace(/ (sent|received)$/, "");
      const names = [...new Set([...sums.keys()].map(alone))];
      return [...sums.values()].map((rail) => curve(rail, theme.lines[names.indexOf(alone(rail.name)) % theme.lines.length], rail.name));
    }

    curves(panel, curves, shown, fixed) {
      const canvas = this.canvas[panel];
      const { context, width, height } = prepare(canvas, Number(canvas.getAttribute("height")) || 150);
      canvas.curves = { curves, shown };
      const columns = Math.max(1, Math.floor(width - LEFT - RIGHT)), span = this.to - this.from;
      const drawn = curves.map(({ layer }) => Array.from({ length: columns }, (_, at) =>
        between(layer, this.from + (at / columns) * span, this.from + ((at + 1) / columns) * span)));
      const peak = (down) => {
        const all = drawn.filter((_, which) => curves[which].down === down);
        return all.length === 0 ? 0 : fixed || Math.max(1, ...all.map((own) => own.reduce((most, column) => Math.max(most, column.greatest), 0))) * 1.05;
      };
      const [most, least] = [peak(false), -peak(true)];
      const y = (value) => 18 + ((most - value) / (most - least)) * (height - BOTTOM - 18);
      this.axes(context, width, height, least, most, y, shown);
      drawn.forEach((all, which) => {
        const { paint, down } = curves[which], sign = down ? -1 : 1;
        context.fillStyle = paint;
        context.globalAlpha = 0.22;
        all.forEach((column, at) => {
          const [top, bottom] = [y(sign * column.greatest), y(sign * column.least)].sort((one, other) => one - other);
          context.fillRect(LEFT + at, top, 1, Math.max(0.5, bottom - top));
        });
        context.globalAlpha = 1;
        context.strokeStyle = paint;
        context.lineWidth = 1.3;
        context.beginPath();
        all.forEach((column, at) => context.lineTo(LEFT + at + 0.5, y(sign * column.mean)));
        context.stroke();
      });
      this.legend(context, curves);
      this.selection(context, width, height);
    }

    legend(context, curves) {
      let x = LEFT + 4;
      context.textAlign = "left";
      for (const { paint, name, down } of curves) {
        const text = down ? `${name} (down)` : name;
        context.fillStyle = paint;
        context.fillRect(x, 2, 9, 9);
        context.fillStyle = css(theme.ink);
        context.fillText(text, x + 13, 11);
        x += 30 + context.measureText(text).width;
      }
    }

    axes(context, width, height, least, most, y, shown) {
      context.textAlign = "right";
      const step = roundStep((most - least) / (least < 0 ? 5 : 3));
      for (let at = Math.ceil(least / step); at * step <= most; at++) {
        context.fillStyle = css(at === 0 ? theme.line : theme.faint);
        context.fillRect(LEFT, y(at * step), width - LEFT - RIGHT, 1);
        context.fillStyle = css(theme.soft);
        context.fillText(shown(Math.abs(at * step)), LEFT - 8, y(at * step) + 4);
      }
      this.timeAxis(context, width, height);
    }

    timeAxis(context, width, height) {
      const span = this.to - this.from, step = roundStep(span / Math.max(2, Math.floor((width - LEFT) / 130)));
      context.textAlign = "center";
      context.fillStyle = css(theme.soft);
      for (let at = Math.ceil(this.from / step); at * step <= this.to; at++) {
        const x = this.x(at * step, width);
        context.fillRect(x, height - BOTTOM, 1, 4);
        context.fillText(seconds(at * step, step * 10), Math.min(x, width - 26), height - 5);
      }
    }

    selection(context, width, height) {
      if (!this.drag) return;
      const [from, to] = [this.drag.from, this.drag.to].map((time) => this.x(time, width));
      context.fillStyle = css(theme.mark);
      context.globalAlpha = 0.15;
      context.fillRect(Math.min(from, to), 0, Math.abs(to - from), height - BOTTOM);
      context.globalAlpha = 1;
    }

    heat() {
      const canvas = this.canvas.heat, rows = this.ranks.length;
      const row = Math.max(1, Math.min(16, Math.floor(900 / rows)));
      const { context, width, height } = prepare(canvas, Math.max(rows * row, 40) + BOTTOM);
      const layer = this.layers[Number(this.layer.value) || 0], length = layer.values.length / rows;
      const columns = Math.max(1, Math.floor(width - LEFT - RIGHT)), span = this.to - this.from;
      const means = new Float32Array(rows * columns);
      let most = layer.data.width === 1 ? 1 : 0;
      for (let rank = 0; rank < rows; rank++) {
        for (let at = 0; at < columns; at++) {
          const { mean } = between(layer, this.from + (at / columns) * span, this.from + ((at + 1) / columns) * span, rank * length, length);
          means[rank * columns + at] = mean;
          if (mean > most) most = mean;
        }
      }
      const picture = new ImageData(columns, rows), pixels = new Uint32Array(picture.data.buffer);
      for (let at = 0; at < pixels.length; at++) pixels[at] = theme.heat[Math.round((255 * means[at]) / (most || 1))];
      const small = new OffscreenCanvas(columns, rows);
      small.getContext("2d").putImageData(picture, 0, 0);
      context.imageSmoothingEnabled = false;
      context.drawImage(small, LEFT, 0, columns, rows * row);
      context.textAlign = "right";
      context.fillStyle = css(theme.soft);
      const every = Math.ceil(14 / row);
      for (let rank = 0; rank < rows; rank += every) context.fillText(this.ranks[rank].split(" ")[1], LEFT - 8, rank * row + Math.max(row / 2, 6) + 4);
      this.timeAxis(context, width, height);
      const shown = layer.data.width === 1 ? percent : rate;
      canvas.rows = { row, layer, length, shown };
      this.scale.textContent = shown(most);
      this.selection(context, width, height);
    }

    tell(canvas, event, time) {
      const title = seconds(time, (this.to - this.from) / 20);
      const half = (this.to - this.from) / canvas.clientWidth / 2;
      if (canvas.curves) {
        const { curves, shown } = canvas.curves;
        return showTip(event, title, curves.map(({ layer, paint, name }) => [paint, `${name}: ${shown(between(layer, time - half, time + half).mean)}`]));
      }
      const { row, layer, length, shown } = canvas.rows;
      const rank = Math.floor((event.clientY - canvas.getBoundingClientRect().top) / row);
      if (rank < 0 || rank >= this.ranks.length) return hideTip();
      showTip(event, title, [[null, `${this.ranks[rank]}: ${shown(between(layer, time - half, time + half, rank * length, length).mean)}`]]);
    }
  }

  class Matrix {
    constructor(section, told, buffer) {
      this.told = told;
      this.values = { bytes: numbers(buffer, told.bytes), messages: numbers(buffer, told.messages) };
      this.canvas = section.querySelector("canvas");
      this.select = section.querySelector("select");
      this.select.addEventListener("change", () => this.draw());
      this.canvas.addEventListener("pointermove", (event) => this.tell(event));
      this.canvas.addEventListener("pointerleave", hideTip);
    }

    name(at) {
      const each = this.told.ranks_each;
      return each === 1 ? `rank ${at}` : `ranks ${at * each} to ${at * each + each - 1}`;
    }

    draw() {
      const { rows } = this.told, values = this.values[this.select.value];
      const size = this.canvas.clientWidth - 40;
      const { context } = prepare(this.canvas, size + 24);
      const present = values.filter((value) => value > 0);
      let [least, most] = [Infinity, 0];
      present.forEach((value) => { least = Math.min(least, value); most = Math.max(most, value); });
      const span = Math.log(most / least);
      const picture = new ImageData(rows, rows), pixels = new Uint32Array(picture.data.buffer);
      values.forEach((value, at) => { pixels[at] = theme.heat[value > 0 ? Math.round(70 + (span > 0 ? (185 * Math.log(value / least)) / span : 80)) : 0]; });
      const small = new OffscreenCanvas(rows, rows);
      small.getContext("2d").putImageData(picture, 0, 0);
      context.imageSmoothingEnabled = false;
      context.drawImage(small, 40, 20, size, size);
      context.strokeStyle = css(theme.line);
      context.strokeRect(40.5, 20.5, size - 1, size - 1);
      context.fillStyle = css(theme.soft);
      const cell = size / rows, every = Math.ceil(26 / cell);
      for (let at = 0; at < rows; at += every) {
        context.textAlign = "right";
        context.fillText(at * this.told.ranks_each, 34, 20 + (at + 0.5) * cell + 4);
        context.textAlign = "center";
        context.fillText(at * this.told.ranks_each, 40 + (at + 0.5) * cell, 13);
      }
      this.cell = cell;
    }

    tell(event) {
      const box = this.canvas.getBoundingClientRect(), { rows } = this.told;
      const [to, from] = [Math.floor((event.clientX - box.left - 40) / this.cell), Math.floor((event.clientY - box.top - 20) / this.cell)];
      if (Math.min(from, to) < 0 || Math.max(from, to) >= rows) return hideTip();
      const [sent, messages] = [this.values.bytes[from * rows + to], this.values.messages[from * rows + to]];
      showTip(event, `${this.name(from)} to ${this.name(to)}`, [[null, `${bytes(sent)} in ${count(messages)} messages`]]);
    }
  }

  const start = async () => {
    tip = document.getElementById("tip");
    const drawn = [];
    for (let number = 0; ; number++) {
      const told = document.getElementById(`told-${number}`);
      if (!told) break;
      const { timeline, matrix } = JSON.parse(told.textContent);
      const buffer = await unpack(number);
      const section = (name) => document.querySelector(`.${name}[data-world="${number}"]`);
      if (timeline) drawn.push(new Timeline(section("timeline"), timeline, buffer));
      if (matrix) drawn.push(new Matrix(section("matrix"), matrix, buffer));
    }
    const draw = () => { readTheme(); paintScales(); drawn.forEach((part) => part.draw()); };
    draw();
    document.querySelectorAll(".theme input").forEach((input) => input.addEventListener("change", draw));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    let waiting = 0;
    addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(draw); });
    document.documentElement.dataset.drawn = "yes";
  };
  // The page goes on behind this script.
  addEventListener("DOMContentLoaded", start);
})();
