// Who sends to whom.
class Matrix {
  constructor(section, description, buffer) {
    this.description = description;
    this.values = { bytes: numbers(buffer, description.bytes), messages: numbers(buffer, description.messages) };
    this.canvas = section.querySelector("canvas");
    this.select = section.querySelector("select");
    this.select.addEventListener("change", () => this.draw());
    this.canvas.addEventListener("pointermove", (event) => this.tell(event));
    this.canvas.addEventListener("pointerleave", hideTip);
  }

  name(at) {
    const each = this.description.ranks_each;
    return each === 1 ? `rank ${at}` : `ranks ${at * each} to ${at * each + each - 1}`;
  }

  draw() {
    const { rows } = this.description, values = this.values[this.select.value];
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
      context.fillText(at * this.description.ranks_each, 34, 20 + (at + 0.5) * cell + 4);
      context.textAlign = "center";
      context.fillText(at * this.description.ranks_each, 40 + (at + 0.5) * cell, 13);
    }
    this.cell = cell;
  }

  tell(event) {
    const box = this.canvas.getBoundingClientRect(), { rows } = this.description;
    const [to, from] = [Math.floor((event.clientX - box.left - 40) / this.cell), Math.floor((event.clientY - box.top - 20) / this.cell)];
    if (Math.min(from, to) < 0 || Math.max(from, to) >= rows) return hideTip();
    const [sent, messages] = [this.values.bytes[from * rows + to], this.values.messages[from * rows + to]];
    showTip(event, `${this.name(from)} to ${this.name(to)}`, [[null, `${bytes(sent)} in ${count(messages)} messages`]]);
  }
}
