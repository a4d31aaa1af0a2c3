"use strict";
// Draws what the page's data hold: a list of words, one word, the map of weights, one feature. Text enters the page as
// text alone (textContent), never as HTML.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (!data || !data.studies || !data.studies.length) return;
  const COLOURS = { "l1inf": "#16347f", "l1": "#d1495b", "l2": "#e5a32b", "l12": "#1f7a5c" };
  const OTHERS = ["#8a8a8a", "#8d6cab", "#49a9c4", "#6b4a2b"];
  const CHANCE = 0.05, LONGEST = 90;
  const at = (id) => document.getElementById(id);
  const state = { study: data.studies[0], method: "", word: "", feature: -1, order: "auc" };

  function element(tag, properties, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties || {})) {
      if (name.includes("-") || name === "role" || name === "for") made.setAttribute(name, value);
      else made[name] = value;
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  function drawn(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function number(value, digits) {
    return value === null || value === undefined ? "–" : value.toFixed(digits === undefined ? 3 : digits);
  }

  function colour(method) {
    if (method === "svm-l2") return OTHERS[0];
    const norm = method.slice(method.lastIndexOf("-") + 1);
    return COLOURS[norm] || OTHERS[1 + state.study.methods.findIndex((one) => one.name === method) % 3];
  }

  function label(method) {
    return state.study.methods.find((one) => one.name === method).label;
  }

  // Controls.

  function fillControls() {
    for (const study of data.studies) at("study").append(element("option", { value: study.name }, study.name));
    at("study").addEventListener("change", (event) => {
      state.study = data.studies.find((one) => one.name === event.target.value);
      begin();
    });
    at("order").addEventListener("change", (event) => {
      state.order = event.target.value;
      state.word = sorted()[0].word;
      list();
      word();
    });
    at("radius").addEventListener("input", () => recolour());
  }

  function begin() {
    const study = state.study;
    at("about").textContent =
      `Run ${study.run} of ${study.runs} with ${study.n} positive ${data.things} a word chose the examples, the ROC curves and the ` +
      "map. AUC and the number of features in the list are means over the runs in which the word did not choose the radius. " +
      `Intervals are of 95 %, for new test ${data.things}` +
      (study.runs > 1 ? " and new training sets." : " alone: one run says nothing of other training sets.");
    at("method").replaceChildren(
      ...study.methods.map((one) => {
        const radio = element("input", { type: "radio", name: "method", value: one.name });
        radio.addEventListener("change", () => choose(one.name));
        return element("label", { title: one.name }, radio, " ", one.label);
      })
    );
    choose(study.methods[0].name);
  }

  function choose(method) {
    state.method = method;
    state.feature = -1;
    if (!state.study.words.some((one) => one.word === state.word)) state.word = sorted()[0].word;
    for (const radio of at("method").querySelectorAll("input")) radio.checked = radio.value === method;
    list();
    word();
    map();
  }

  // Words.

  function sorted() {
    const auc = (one) => one.methods[state.method].auc;
    const compare = {
      auc: (a, b) => auc(b) - auc(a),
      lowest: (a, b) => auc(a) - auc(b),
      name: (a, b) => a.word.localeCompare(b.word),
      positives: (a, b) => b.positives - a.positives,
    }[state.order];
    return [...state.study.words].sort(compare);
  }

  function list() {
    at("list").replaceChildren(
      ...sorted().map((one) => {
        const own = one.methods[state.method];
        const known = own.p_holm <= CHANCE;
        const button = element("button", { type: "button", "aria-pressed": String(one.word === state.word) }, one.word);
        const bar = element("i", {});
        bar.style.width = `${100 * (own.auc || 0)}%`;
        bar.style.background = known ? colour(state.method) : "#b5b5b5";
        const row = element(
          "tr",
          {},
          element("td", {}, button),
          element("td", { className: known ? "" : "chance", title: known ? "" : "no better than chance" }, number(own.auc)),
          element("td", {}, element("span", { className: "meter", title: "the line is chance" }, bar, element("b", {}))),
          element("td", {}, number(own.n_features, 0)),
          element("td", {}, String(one.positives))
        );
        row.addEventListener("click", () => {
          state.word = one.word;
          for (const other of at("list").querySelectorAll("button")) {
            other.setAttribute("aria-pressed", String(other === button));
          }
          word();
        });
        return row;
      })
    );
  }

  function word() {
    const one = state.study.words.find((each) => each.word === state.word);
    const own = one.methods[state.method];
    const interval = own.low === null ? "" : ` (${number(own.low)} to ${number(own.high)})`;
    const chance = own.p_holm <= CHANCE ? "better than chance" : "no better than chance";
    const p = own.p_holm < 1e-16 ? "p < 1e-16" : `p = ${own.p_holm.toPrecision(2)}`;
    const facts = [
      `${one.positives} test ${data.things} have it`,
      `AUC ${number(own.auc)}${interval}, ${chance} (${p}, corrected for the number of words)`,
      `${number(own.n_features, 0)} features`,
    ];
    if (one.best) facts.push(`best method: ${label(one.best)}`);
    if (one.always) facts.push("this word helped to choose the radius in every run, so it is no test word");
    else if (one.chose) facts.push(`this word helped to choose the radius in run ${state.study.run}, which its AUC leaves out`);
    const beside = own.beside.map(([other, count]) => `${count} have “${other}”`).join(", ");
    at("word").replaceChildren(
      element("h3", {}, `“${one.word}” by ${label(state.method)}`),
      element("p", {}, facts.join("; ") + "."),
      beside ? element("p", {}, `Of the ${own.top} ${data.things} ranked highest, ${beside}: at least twice as many as by chance.`) : "",
      own.telling ? element("p", {}, `Telling features: ${own.telling.join(", ") || "none"}.`) : "",
      legend(),
      element("div", { className: "charts" }, bySize(one), roc(one)),
      gallery("Ranked highest, and right", own.highest),
      gallery("Errors: ranked highest without the word", own.errors),
      gallery("Misses: ranked lowest with the word", own.misses)
    );
  }

  function legend() {
    return element(
      "p",
      { className: "legend" },
      ...state.study.methods.map((one) => {
        const line = element("i", {});
        line.style.background = colour(one.name);
        return element("span", {}, line, one.label);
      })
    );
  }

  function gallery(title, images) {
    const shown = images.map(([row, rank]) => picture(row, `rank ${rank}`));
    return element(
      "div",
      {},
      element("h3", {}, title),
      element("div", { className: "gallery" }, ...(shown.length ? shown : [element("p", {}, "none")]))
    );
  }

  function cut(text) {
    const end = text.lastIndexOf(" ", LONGEST);
    return text.length <= LONGEST ? text : text.slice(0, end > 0 ? end : LONGEST) + " …";
  }

  function picture(row, told) {
    const image = data.images[state.study.rows[row]];
    const captions = image.captions.join(" / ");
    const all = `${image.name}: ${captions}`;
    const caption = element("figcaption", { title: all }, told ? element("strong", {}, told) : "", " ", cut(captions));
    const told_by = state.study.told[row] || image.name;
    if (!image.file) return element("figure", { title: all }, caption, " ", element("span", { className: "faint" }, told_by));
    return element("figure", {}, element("img", { loading: "lazy", src: image.file, alt: captions, title: all }), caption);
  }

  // Charts. Every one has a frame of the same size, in which x and y are places from 0 to 1.

  const WIDTH = 300, HEIGHT = 200, LEFT = 46, BELOW = 34, ABOVE = 8;
  const across = (x) => LEFT + x * (WIDTH - LEFT - 10);
  const up = (y) => HEIGHT - BELOW - y * (HEIGHT - BELOW - ABOVE);

  function chart(name, xTicks, yTicks, xTitle, yTitle, ...lines) {
    const svg = drawn("svg", { width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    svg.append(drawn("title", {}, name));
    for (const [y, text] of yTicks) {
      svg.append(drawn("line", { x1: across(0), x2: across(1), y1: up(y), y2: up(y), stroke: "#e6e6e6" }));
      svg.append(drawn("text", { x: LEFT - 5, y: up(y) + 4, "text-anchor": "end" }, text));
    }
    for (const [x, text] of xTicks) {
      svg.append(drawn("text", { x: across(x), y: HEIGHT - BELOW + 14, "text-anchor": "middle" }, text));
    }
    svg.append(drawn("text", { x: across(0.5), y: HEIGHT - 4, "text-anchor": "middle" }, xTitle));
    const title = drawn("text", { x: 10, y: up(0.5), "text-anchor": "middle" }, yTitle);
    title.setAttribute("transform", `rotate(-90 10 ${up(0.5)})`);
    svg.append(title, ...lines.flat());
    return element("figure", {}, svg);
  }

  function line(points, stroke, width) {
    const path = points.map(([x, y]) => `${across(x).toFixed(1)},${up(y).toFixed(1)}`).join(" ");
    return drawn("polyline", { points: path, fill: "none", stroke: stroke, "stroke-width": width });
  }

  function bySize(one) {
    const cells = Object.values(one.methods).flatMap((own) => own.sizes);
    const sizes = [...new Set(cells.map(([n]) => n))].sort((a, b) => a - b);
    const ends = cells.filter(([, auc]) => auc !== null).flatMap(([, , low, high]) => [low, high]);
    const low = Math.max(0, Math.min(0.5, ...ends) - 0.02), high = Math.min(1, Math.max(0.6, ...ends) + 0.02);
    const x = (n) => (sizes.length > 1 ? sizes.indexOf(n) / (sizes.length - 1) : 0.5);
    const y = (auc) => (auc - low) / (high - low);
    const lines = state.study.methods.map(({ name }) => {
      const known = one.methods[name].sizes.filter(([, auc]) => auc !== null);
      const thick = name === state.method ? 2.5 : 1.2;
      const bars = known.map(([n, , from, to]) => line([[x(n), y(from)], [x(n), y(to)]], colour(name), thick / 2));
      const dots = known.map(([n, auc]) => drawn("circle", { cx: across(x(n)), cy: up(y(auc)), r: 3, fill: colour(name) }));
      return [line(known.map(([n, auc]) => [x(n), y(auc)]), colour(name), thick), ...bars, ...dots];
    });
    const step = high - low > 0.2 ? 0.1 : 0.05;
    const ticks = [];
    for (let i = Math.ceil(low / step); i * step <= high; i++) ticks.push([y(i * step), (i * step).toFixed(step === 0.1 ? 1 : 2)]);
    const chance = drawn("line", { x1: across(0), x2: across(1), y1: up(y(0.5)), y2: up(y(0.5)), stroke: "#777", "stroke-dasharray": "3 3" });
    return chart(`AUC of ${one.word} by size`, sizes.map((n) => [x(n), n]), ticks, `positive ${data.things}`, "AUC", chance, ...lines);
  }

  function roc(one) {
    const lines = state.study.methods.map(({ name }) => {
      const [alarms, hits] = one.methods[name].roc;
      return line(alarms.map((alarm, i) => [alarm, hits[i]]), colour(name), name === state.method ? 2.5 : 1.2);
    });
    const ticks = [[0, "0"], [0.5, "0.5"], [1, "1"]];
    const chance = line([[0, 0], [1, 1]], "#bbb", 1);
    return chart(`ROC curve of ${one.word}`, ticks, ticks, "false alarms", "hits", chance, ...lines);
  }

  // What words share.

  function unpacked(text) {
    return Int8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  }

  function map() {
    const shared = state.study.sharing[state.method];
    const head = element("tr", {}, element("th", {}), ...shared.words.map((k) =>
      element("th", { scope: "col" }, element("span", {}, state.study.names[k]))));
    const rows = shared.features.map((feature, i) => {
      const button = element("button", { type: "button", "aria-pressed": "false" }, feature.name);
      button.addEventListener("click", () => {
        state.feature = i;
        for (const other of at("map").querySelectorAll("button")) {
          other.setAttribute("aria-pressed", String(other === button));
        }
        showFeature();
      });
      return element("tr", {}, element("th", { scope: "row" }, button), ...shared.words.map(() => element("td", {})));
    });
    at("map").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
    at("radius").max = shared.path.length - 1;
    at("radius").value = shared.chosen;
    recolour();
  }

  function recolour() {
    const shared = state.study.sharing[state.method];
    const place = Number(at("radius").value);
    const fit = shared.path[place];
    const chosen = place === shared.chosen ? ", chosen by validation" : "";
    const shown = shared.features.length < fit.used ? `; the map shows ${shared.features.length}` : "";
    at("radius-text").textContent =
      `${fit.radius}${chosen}: ${fit.used} of ${shared.n_features} features in use${shown}; mean AUC ${number(fit.auc)} in run ${state.study.run}`;
    at("radius").setAttribute("aria-valuetext", at("radius-text").textContent);
    const weights = unpacked(fit.weights);
    const cells = at("map").querySelectorAll("td");
    for (let i = 0; i < cells.length; i++) {
      const share = Math.sqrt(Math.abs(weights[i]) / 127);
      const [r, g, b] = weights[i] > 0 ? [178, 24, 43] : [33, 102, 172]; // as in maps of pictures
      cells[i].style.background = weights[i] ? `rgb(${[r, g, b].map((c) => Math.round(244 + share * (c - 244))).join()})` : "";
    }
    showFeature();
  }

  function showFeature() {
    const shared = state.study.sharing[state.method];
    if (state.feature < 0 || !shared.features.length) {
      at("feature").replaceChildren(
        element("p", { className: "faint" }, shared.features.length ? "Choose a feature to see what it responds to." : "No feature is in use.")
      );
      return;
    }
    const feature = shared.features[state.feature];
    const n = shared.words.length;
    const row = unpacked(shared.path[Number(at("radius").value)].weights).slice(state.feature * n, (state.feature + 1) * n);
    const users = shared.words.map((k, j) => [state.study.names[k], row[j]]).filter(([, w]) => w);
    users.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const told = (sign) => users.filter(([, w]) => sign * w > 0).map(([name]) => name).join(", ") || "none";
    const [high, low] = feature.images;
    at("feature").replaceChildren(
      element("h3", {}, `${feature.name}: ${users.length} of ${n} words use it`),
      element("p", {}, `It speaks for: ${told(1)}. Against: ${told(-1)}.`),
      element("h3", {}, `Test ${data.things} with its largest values`),
      element("div", { className: "gallery" }, ...high.map((image) => picture(image, ""))),
      ...(low.length ? [element("h3", {}, `Test ${data.things} with its smallest values`)] : []),
      element("div", { className: "gallery" }, ...low.map((image) => picture(image, "")))
    );
  }

  fillControls();
  begin();
})();
