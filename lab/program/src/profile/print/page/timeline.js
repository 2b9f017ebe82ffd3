// What changed over time: curves and a picture of all ranks, which are zoomed together.
class Timeline {
  constructor(section, description, buffer) {
    this.section = section;
    this.seconds = description.seconds;
    this.ranks = description.ranks;
    [this.from, this.to] = [0, description.seconds];
    const read = (layer) => ({ ...layer, values: numbers(buffer, layer.data) });
    this.sums = description.sums.map(read);
    this.layers = description.layers.map(read);
    this.rails = description.rails.map(read);
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
