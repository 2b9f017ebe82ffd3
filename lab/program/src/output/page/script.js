// Shows the values of all visible stacks at the place nearest to the pointer, instead of the browser's own hints.
(() => {
  const tip = document.getElementById("tip");

  const line = (mark) => {
    const stack = mark.parentNode;
    const row = document.createElement("div");
    row.className = [...stack.classList].find((name) => /^s\d+$/.test(name));
    const dot = document.createElement("i");
    const value = document.createElement("span");
    value.textContent = mark.dataset.value;
    row.append(dot, stack.dataset.name, " ", value);
    return row;
  };

  const show = (plot, cursor, marks, pointer) => {
    const visible = marks.filter((mark) => mark.getBoundingClientRect().width > 0);
    if (visible.length === 0) return hide(cursor);
    const at = plot.createSVGPoint();
    at.x = pointer.clientX;
    at.y = pointer.clientY;
    const x = at.matrixTransform(plot.getScreenCTM().inverse()).x;
    const distance = (mark) => Math.abs(mark.dataset.x - x);
    const nearest = visible.reduce((best, mark) => (distance(mark) < distance(best) ? mark : best));
    const column = visible.filter((mark) => mark.dataset.x === nearest.dataset.x);
    column.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
    const title = document.createElement("b");
    title.textContent = nearest.dataset.place;
    tip.replaceChildren(title, ...column.map(line));
    tip.hidden = false;
    cursor.classList.add("on");
    cursor.setAttribute("x1", nearest.dataset.x);
    cursor.setAttribute("x2", nearest.dataset.x);
    const fits = pointer.clientX + 18 + tip.offsetWidth < document.documentElement.clientWidth;
    tip.style.left = `${Math.max(0, window.scrollX + pointer.clientX + (fits ? 18 : -18 - tip.offsetWidth))}px`;
    tip.style.top = `${window.scrollY + pointer.clientY + 14}px`;
  };

  const hide = (cursor) => {
    tip.hidden = true;
    cursor.classList.remove("on");
  };

  for (const plot of document.querySelectorAll("svg.plot")) {
    const cursor = plot.querySelector(".cursor");
    if (!cursor) continue;
    const marks = [...plot.querySelectorAll("[data-value]")];
    marks.forEach((mark) => mark.querySelector("title").remove());
    plot.addEventListener("pointermove", (pointer) => show(plot, cursor, marks, pointer));
    plot.addEventListener("pointerleave", () => hide(cursor));
  }
})();
