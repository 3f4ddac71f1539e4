// Runs in a page that is judged: what its plots draw must be there and be readable. The verdict is
// left in the page, as JSON.
(() => {
  const SMALLEST_TEXT_PX = 8;
  const faults = [];
  const plots = [...document.querySelectorAll("svg")];

  const judgeText = (plot, fault) => {
    const frame = plot.getBoundingClientRect();
    const scale = frame.width / plot.viewBox.baseVal.width;
    const texts = [...plot.querySelectorAll("text")].map((text) => ({
      words: text.textContent,
      box: text.getBoundingClientRect(),
      size_px: parseFloat(getComputedStyle(text).fontSize) * scale,
    }));
    if (texts.length === 0) fault("says nothing");
    texts.forEach(({ words, box, size_px }, index) => {
      if (size_px < SMALLEST_TEXT_PX) fault(`"${words}" is ${size_px.toFixed(1)} px high`);
      const inside =
        box.left >= frame.left - 1 && box.right <= frame.right + 1 &&
        box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
      if (!inside) fault(`"${words}" is cut off`);
      for (const other of texts.slice(index + 1)) {
        const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const down = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        if (across > 1 && down > box.height / 4) fault(`"${words}" lies over "${other.words}"`);
      }
    });
  };

  const judgeMarks = (plot, fault) => {
    const marks = [...plot.querySelectorAll("rect, circle, polyline, path")];
    const drawn = marks.filter((mark) => {
      const box = mark.getBBox();
      return box.width + box.height > 0 && getComputedStyle(mark).visibility === "visible";
    });
    if (drawn.length === 0) fault("draws nothing");
    for (const mark of plot.querySelectorAll("*")) {
      for (const { name, value } of mark.attributes) {
        if (/NaN|Infinity/.test(value)) fault(`${mark.tagName} has ${name}="${value}"`);
      }
    }
  };

  plots.forEach((plot, number) => {
    const title = plot.getAttribute("aria-label") ?? `plot ${number}`;
    const fault = (words) => faults.push(`${title}: ${words}`);
    const { width, height } = plot.getBoundingClientRect();
    if (width < 300 || height < 30) fault(`is ${width} by ${height} px`);
    judgeText(plot, fault);
    judgeMarks(plot, fault);
  });
  for (const { name } of performance.getEntriesByType("resource")) faults.push(`loads ${name}`);
  if (document.compatMode !== "CSS1Compat") faults.push("has no doctype");

  const verdict = document.createElement("script");
  verdict.type = "application/json";
  verdict.id = "verdict";
  verdict.textContent = JSON.stringify({ plots: plots.length, faults });
  document.body.append(verdict);
})();
