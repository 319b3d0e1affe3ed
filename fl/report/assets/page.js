// Draws the charts of a page, in the page's own colours, whichever these are just now.
(() => {
  "use strict";

  const ink = () => getComputedStyle(document.body).color;

  function draw(holder) {
    const figure = JSON.parse(holder.textContent);
    const place = document.getElementById(holder.dataset.for);
    figure.layout.font = { ...figure.layout.font, color: ink() };
    const config = { responsive: true, displayModeBar: false };
    return Plotly.newPlot(place, figure.data, figure.layout, config);
  }

  const charts = [...document.querySelectorAll("script.figure")];
  Promise.all(charts.map(draw)).then(() => {
    document.documentElement.dataset.drawn = "yes";
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const holder of charts) {
      Plotly.relayout(document.getElementById(holder.dataset.for), { "font.color": ink() });
    }
  });
})();
