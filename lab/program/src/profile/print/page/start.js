// Draws all of it: now, and again for another theme or another width.
const start = async () => {
  tip = document.getElementById("tip");
  const drawn = [];
  for (let number = 0; ; number++) {
    const description = document.getElementById(`description-${number}`);
    if (!description) break;
    const { timeline, matrix } = JSON.parse(description.textContent);
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
