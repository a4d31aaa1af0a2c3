"use strict";
// Draws what the page's data hold: a list of words, one word, tags to check, one picture, the map of weights, one
// feature. Text enters the page only as text (textContent), never as HTML.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (!data || !data.studies || !data.studies.length) return;
  const NORMS = ["l1inf", "l1", "l2", "l12"]; // the norms with colours of their own, see PALETTE in figures/style.py
  const LONGEST = 60, LEVELS = 20; // characters of a caption; steps of a packed score in a standard deviation
  const OPEN = 2; // words whose tags to check are shown without a click
  const at = (id) => document.getElementById(id);
  const state = { study: data.studies[0], method: "", word: "", feature: -1, order: "first", sought: "", view: null };

  function element(tag, properties, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties || {})) {
      if (name.includes("-") || name === "role" || name === "for") made.setAttribute(name, value);
      else made[name] = value;
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  // A word in a sentence. Letters that run from right to left must not reorder the sentence around them.
  function isolated(word) {
    return element("bdi", {}, word);
  }

  function drawn(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function number(value, digits) {
    return value === null || value === undefined ? "–" : (value + 1e-9).toFixed(digits === undefined ? 3 : digits);
  }

  function colour(method) {
    const norm = method.slice(method.lastIndexOf("-") + 1);
    if (method !== "svm-l2" && NORMS.includes(norm)) return `var(--${norm})`;
    const place = state.study.methods.findIndex((one) => one.name === method) % 3;
    return method === "svm-l2" ? "var(--other)" : `var(--other${1 + place})`;
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
      list();
    });
    at("seek").addEventListener("input", (event) => {
      state.sought = event.target.value.trim().toLowerCase();
      list();
    });
    at("radius").addEventListener("input", () => recolour());
    at("find").addEventListener("click", (event) => {
      event.preventDefault(); // following the link would take the focus away from the search
      at("words").scrollIntoView();
      at("seek").focus({ preventScroll: true });
    });
    window.addEventListener("hashchange", follow);
    window.addEventListener("beforeprint", () => {
      for (const details of document.querySelectorAll("details:not(.tag)")) details.open = true;
    });
    document.addEventListener("keydown", (event) => {
      const by = { j: 1, k: -1 }[event.key];
      if (!by || event.ctrlKey || event.metaKey || event.altKey || viewer.open || event.target.matches("select, [type=search]")) return;
      const words = sorted(), place = words.findIndex((one) => one.word === state.word) + by;
      if (words[place]) go(words[place].word, true);
    });
    at("before").addEventListener("click", () => step(-1));
    at("after").addEventListener("click", () => step(1));
    at("leave").addEventListener("click", () => viewer.close());
    viewer.addEventListener("click", (event) => event.target === viewer && viewer.close());
    viewer.addEventListener("close", () => history.state && history.state.viewer && history.back());
    window.addEventListener("popstate", (event) => !(event.state && event.state.viewer) && viewer.open && viewer.close());
    document.addEventListener("keydown", (event) => {
      const by = viewer.open ? { ArrowRight: 1, ArrowLeft: -1 }[event.key] : 0;
      if (!by) return;
      step(by);
      event.preventDefault();
    });
  }

  function about() {
    const study = state.study;
    if (study.known_images) {
      return `The model has learnt from all ${study.known_images.toLocaleString("en")} labelled training and validation ${data.things}. ` +
        `Averages over its ${data.labels}: AUC ${number(study.means.auc)}, average precision ${number(study.means.precision)}, ` +
        `${number(study.means.first * study.of_first, 1)} of the ${study.of_first} highest-ranked ${data.things} right. ` +
        `The 95 % intervals hold for new test ${data.things}.`;
    }
    const median = study.runs > 2 ? ", the run with the median number of features" : "";
    return `The examples, the ROC curves and the map come from run ${study.run} of ${study.runs}${median}, with ${study.n} positive ` +
      `${data.things} for each ${data.label}. The numbers in the list are means over the runs in which the ${data.label} did not choose the radius. ` +
      (study.runs > 1 ? `The 95 % intervals hold for new test ${data.things} and new training sets.` :
        `The 95 % intervals hold for new test ${data.things}, but a single run says nothing about other training sets.`);
  }

  function begin() {
    const study = state.study;
    at("study").value = study.name;
    at("about").textContent = about();
    at("method").replaceChildren(
      ...study.methods.map((one) => {
        const radio = element("input", { type: "radio", name: "method", value: one.name });
        radio.addEventListener("change", () => choose(one.name));
        return element("label", {}, radio, " ", one.label);
      })
    );
    choose(study.best);
  }

  function choose(method) {
    state.method = method;
    state.feature = -1;
    if (!state.study.words.some((one) => one.word === state.word)) state.word = (sorted()[0] || state.study.words[0]).word;
    for (const radio of at("method").querySelectorAll("input")) radio.checked = radio.value === method;
    list();
    word();
    tags();
    map();
    curve();
  }

  // Words.

  function sorted() {
    const by = (...keys) => (a, b) => {
      const key = keys.find((each) => a.methods[state.method][each] !== b.methods[state.method][each]);
      return key ? b.methods[state.method][key] - a.methods[state.method][key] : 0;
    };
    const compare = {
      first: by("recognised", "first", "auc"),
      auc: by("auc"),
      lowest: (a, b) => by("auc")(b, a),
      precision: by("precision"),
      name: (a, b) => a.word.localeCompare(b.word),
      positives: (a, b) => b.positives - a.positives,
    }[state.order];
    return state.study.words.filter((one) => one.word.toLowerCase().includes(state.sought)).sort(compare);
  }

  function list() {
    const shown = sorted();
    at("list").replaceChildren(
      ...shown.map((one) => {
        const own = one.methods[state.method];
        const button = element("button", { type: "button" }, one.word);
        button.addEventListener("click", () => go(one.word));
        return element(
          "tr",
          { className: own.recognised ? "" : "chance", title: own.recognised ? "" : "no better than chance, as far as the test tells" },
          element("td", {}, button),
          element("td", {}, number(own.auc)),
          element("td", {}, meter(own)),
          element("td", {}, number(own.first * state.study.of_first, state.study.runs > 1 ? 1 : 0)),
          element("td", {}, number(own.precision, 2)),
          element("td", {}, number(own.n_features, 0)),
          element("td", {}, String(one.positives))
        );
      }),
      shown.length ? "" : element("tr", {}, element("td", { colSpan: 7 }, `no ${data.label} contains this`))
    );
    press();
  }

  // A bar for the AUC from chance (.5) to 1, with its interval as a line.
  function meter(own) {
    const place = (auc) => `${200 * (Math.min(1, Math.max(0.5, auc || 0)) - 0.5)}%`;
    const bar = element("i", {}), line = element("b", {});
    bar.style.width = place(own.auc);
    if (own.recognised) bar.style.background = colour(state.method);
    line.style.left = place(own.low);
    line.style.width = `calc(${place(own.high)} - ${place(own.low)})`;
    const interval = own.low === null ? "" : `95 % interval: ${number(own.low)} to ${number(own.high)}`;
    return element("span", { className: "meter", title: interval }, bar, own.low === null ? "" : line);
  }

  function press() {
    const box = at("list").closest(".list");
    for (const button of at("list").querySelectorAll("button")) {
      const pressed = button.textContent === state.word;
      button.setAttribute("aria-pressed", String(pressed));
      if (pressed) box.scrollTop = button.offsetTop - box.clientHeight / 2;
    }
  }

  // Go to a word by its address, so that the back button works.
  function go(name, instead) {
    const address = `#word=${encodeURIComponent(name)}`;
    show(name);
    if (instead) location.replace(address);
    else location.hash = address;
  }

  function show(name) {
    state.word = name;
    press();
    word();
    const { top } = at("word").getBoundingClientRect();
    if (top < 0 || top > innerHeight / 2) at("word").scrollIntoView();
  }

  function follow() {
    let name;
    try {
      name = decodeURIComponent((/^#word=(.*)$/.exec(location.hash) || [])[1] || "");
    } catch {
      return; // the address is cut off
    }
    const has = (study) => study.words.some((one) => one.word === name);
    const study = has(state.study) ? state.study : data.studies.find(has);
    if (!study && name) {
      at("seek").value = name; // so that the list says that there is none
      state.sought = name.toLowerCase();
      list();
    }
    if (!study) return;
    if (study !== state.study) {
      state.study = study;
      begin();
    }
    show(name);
  }

  function word() {
    const one = state.study.words.find((each) => each.word === state.word);
    const own = one.methods[state.method];
    const interval = own.low === null ? "" : ` (${number(own.low)} to ${number(own.high)})`;
    const p = own.p_holm < 1e-16 ? "p < 1e-16" : `p = ${(own.p_holm || 0).toPrecision(2)}`;
    const tested = own.p_holm === null ? "" : ` (${p}, corrected for the number of ${data.labels})`;
    const facts = [
      `${one.positives} of ${own.of} test ${data.things} have it`,
      `AUC ${number(own.auc)}${interval}, ${own.recognised ? "better than chance" : "not significantly better than chance"}${tested}`,
      `average precision ${number(own.precision)}`,
      `${number(own.n_features, 0)} features`,
    ];
    if (one.best) facts.push(`best method: ${label(one.best)}`);
    if (one.always) facts.push(`this ${data.label} helped to choose the radius in every run, so its numbers are too good`);
    else if (one.chose) facts.push(`this ${data.label} helped to choose the radius in run ${state.study.run}, so its numbers leave that run out`);
    const beside = own.beside.flatMap(([other, count], i) => [`${i ? ", " : ""}${count} have “`, isolated(other), "”"]);
    const first = state.study.of_first, several = state.study.runs > 1;
    const right = `${number(own.first * first, several ? 1 : 0)} of the ${first} highest-ranked ${data.things} are right` +
      (several ? ` on average over runs (${own.right} in the run shown)` : "") + `; guessing would give ${number(own.by_chance, 1)}. `;
    at("word").replaceChildren(
      element("h3", {}, "“", isolated(one.word), `” by ${label(state.method)}`),
      element("p", {}, element("strong", {}, right), facts.join("; ") + "."),
      own.telling ? element("p", {}, `Features with the largest weights for it: ${own.telling.join(", ") || "none"}.`) : "",
      gallery(`The highest-ranked ${data.things} with the ${data.label}`, own.highest),
      beside.length ? element("p", {}, `Of the ${own.top} highest-ranked ${data.things} `, ...beside, ", at least twice as many as expected by chance.") : "",
      gallery(`The highest-ranked ${data.things} without the ${data.label}, which may be missing there`, own.errors),
      gallery(`The lowest-ranked ${data.things} with the ${data.label}`, own.misses),
      legend(),
      element("div", { className: "charts" }, own.sizes.length ? bySize(one) : "", roc(one))
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
    const rows = images.map(([row]) => row), place = state.study.names.indexOf(state.word);
    const shown = images.map(([row, rank]) => picture(row, `rank ${rank}`, place, rows));
    return element(
      "div",
      {},
      element("h3", {}, title),
      element("div", { className: "gallery" }, ...(shown.length ? shown : [element("p", {}, "none")]))
    );
  }

  // Images that look mislabelled, by word: the best known words first, and the worst images of a word first.
  function tags() {
    const known = state.study.words.map((one) => [one, one.methods[state.method]]).filter(([, own]) => own.recognised);
    known.sort(([, a], [, b]) => b.first - a.first || b.auc - a.auc);
    at("tags").replaceChildren(...known.map(([one, own], i) => {
      const clean = own.errors.length + own.misses.length ? "" : ": nothing to check";
      const details = element("details", { className: "tag" }, element("summary", {}, element("strong", {}, isolated(one.word)), clean));
      const fill = () => details.childElementCount > 1 || details.append(
        ...(own.errors.length ? [images("may be missing on", one.word, own.errors)] : []),
        ...(own.misses.length ? [images("may be wrong on", one.word, own.misses)] : [])
      );
      details.addEventListener("toggle", fill);
      if (i < OPEN) {
        details.open = true;
        fill();
      }
      return details;
    }));
  }

  // Images whose label of a word is to be checked. what: says of the word that it may be missing or wrong on them.
  function images(what, name, ranked) {
    const rows = ranked.map(([row]) => row), place = state.study.names.indexOf(name);
    return element("div", {},
      element("h3", {}, "“", isolated(name), `” ${what} these ${data.things}`),
      element("div", { className: "gallery" }, ...ranked.map(([row, rank]) => picture(row, `rank ${rank}`, place, rows))));
  }

  function cut(text) {
    const end = text.lastIndexOf(" ", LONGEST);
    return text.length <= LONGEST ? text : text.slice(0, end > 0 ? end : LONGEST) + " …";
  }

  // An image of a gallery, with its map of a word or feature if there is one. title: its rank. rows: its neighbours.
  function picture(row, title, place, rows) {
    const image = data.images[state.study.rows[row]];
    const captions = (image.file && image.text ? [image.text] : image.captions).join(" / "), all = `${image.name}: ${captions}`;
    const open = element("button", { type: "button", className: `open mapped ${place < state.study.names.length ? "" : "shown"}`, title: all });
    open.append(...(image.file ? sights(image, place) : [image.text || summary(row) || image.name]));
    open.addEventListener("click", () => view(rows, rows.indexOf(row), place));
    return element("figure", {}, open, element("figcaption", { title: all }, title ? element("strong", {}, title) : "", " ", cut(captions)));
  }

  function sights(image, place) {
    const shown = [element("img", { loading: "lazy", src: image.file, alt: image.captions.join(" / ") || image.name })];
    if (mapped(image, place)) shown.push(map_of(image, place));
    return shown;
  }

  function mapped(image, place) {
    return state.study.with_maps && (image.maps || []).includes(place);
  }

  function map_of(image, place) {
    const name = state.study.names[place] || "the feature";
    const file = image.file.replace(".webp", `-${String(place).padStart(3, "0")}.webp`);
    return element("img", { loading: "lazy", src: file, alt: `map of “${name}”` });
  }

  // An image, enlarged, and what the method says about it.

  const viewer = at("viewer");

  function view(rows, i, place) {
    state.view = { rows, i, place };
    const study = state.study, row = rows[i], image = data.images[study.rows[row]];
    const sight = (...shown) => element("span", { className: "sight mapped shown" }, ...shown);
    const pictures = image.file ? [sight(...sights(image, -1))] : [image.text || summary(row)];
    if (mapped(image, place)) pictures.push(sight(...sights(image, place)));
    const asked = place >= 0 && place < study.names.length, own = ranked(row);
    at("viewed").textContent = image.name;
    at("place").textContent = `${i + 1} of ${rows.length}`;
    at("view").replaceChildren(
      element("div", { className: "sights" }, ...pictures),
      element("p", {}, [...(image.file && image.text ? [image.text] : []), ...image.captions].join(" / "), " ", image.original ? element("a", { href: image.original, target: "_blank", rel: "noopener" }, "Open the file") : ""),
      asked ? why(row, image, place, own) : "",
      element("h3", {}, `The scores of ${label(state.method)}`),
      element("p", { className: "faint" }, `A score counts standard deviations from the mean of all ${study.n_test.toLocaleString("en")} test ${data.things}. ✓ marks the ${data.labels} that it has${study.unclear[row].length ? `, ? the ${data.labels} whose label is unknown` : ""}.`),
      element("div", { className: "said" }, ...said(row, image, own, (k) => {
        view(rows, i, k);
        viewer.querySelector(`[data-word="${k}"]`).focus();
      })),
      ...near(row)
    );
    if (viewer.open) return;
    viewer.showModal();
    history.pushState({ viewer: true }, ""); // the back button closes the viewer
  }

  // What the method says about a word, and why.
  function why(row, image, place, own) {
    const study = state.study, name = study.names[place], reasons = study.reasons;
    const has = study.has[row].includes(place) ? "it has" : study.unclear[row].includes(place) ? "it is unknown whether it has" : "it does not have";
    const said = [`”: rank ${own.ranks[place]}, and ${has} the ${data.label}.`];
    if (mapped(image, place)) said.push(`On the map, red parts speak for the ${data.label} and blue parts against it.`);
    if (explained(image, place) && reasons) {
      const weights = unpacked(reasons.weights), n = study.names.length;
      const parts = reasons.values[row].map(([j, x]) => [reasons.features[j], x * weights[j * n + place]]);
      parts.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
      const some = (sign) => parts.filter(([, part]) => sign * part > 0).map(([feature]) => feature).join(", ") || "none";
      said.push(`Features that speak for it: ${some(1)}. Against it: ${some(-1)}.`);
    }
    return element("p", {}, "“", isolated(name), said.join(" "));
  }

  // The features of a sample that matter most.
  function summary(row) {
    const reasons = state.study.reasons;
    return reasons && reasons.brief ? reasons.values[row].map(([j]) => reasons.features[j]).join(", ") : "";
  }

  function explained(image, place) {
    return mapped(image, place) || Boolean(state.study.reasons && state.method === state.study.best);
  }

  // The scores and ranks of a test image for every word.
  function ranked(row) {
    const study = state.study, packed = study.said[state.method], n = study.names.length;
    const begin = n * Object.keys(study.rows).indexOf(String(row));
    const Ranks = study.n_test < 65536 ? Uint16Array : Uint32Array;
    return {
      scores: unpacked(packed.scores).subarray(begin, begin + n),
      ranks: new Ranks(unpacked(packed.ranks).buffer).subarray(begin, begin + n),
    };
  }

  // The images the model has learnt from that have the most similar scores.
  function near(row) {
    const rows = (state.study.alike || {})[row];
    return !rows ? [] : [
      element("h3", {}, `Training and validation ${data.things} with the most similar scores`),
      element("div", { className: "gallery" }, ...rows.map((one) => data.images[one]).map((image) => element("figure", {},
        image.file ? element("img", { loading: "lazy", src: image.file, alt: image.name }) : image.name,
        element("figcaption", {}, cut(image.captions.join(" / ")))))),
    ];
  }

  function step(by) {
    const { rows, i, place } = state.view;
    view(rows, (i + by + rows.length) % rows.length, place);
  }

  // The scores of all words, the highest first. { scores, ranks }: see `ranked`. draw: shows the map of a word.
  function said(row, image, { scores, ranks }, draw) {
    const study = state.study;
    const most = Math.max(1, ...scores.map(Math.abs));
    const words = study.names.map((name, k) => k).sort((a, b) => scores[b] - scores[a] || ranks[a] - ranks[b]);
    return words.map((k) => {
      const bar = element("i", { className: scores[k] > 0 ? "for" : "against" });
      bar.style.width = `${(50 * Math.abs(scores[k])) / most}%`;
      bar.style.left = scores[k] > 0 ? "50%" : `${50 - (50 * Math.abs(scores[k])) / most}%`;
      const sign = study.has[row].includes(k) ? "✓ " : study.unclear[row].includes(k) ? "? " : "";
      const name = element(explained(image, k) ? "button" : "span", {}, sign + study.names[k]);
      if (explained(image, k)) {
        name.addEventListener("click", () => draw(k));
        name.title = "show what speaks for it";
        name.setAttribute("aria-pressed", String(k === state.view.place));
      }
      name.dataset.word = k;
      const rank = element("span", { className: "faint" }, `rank ${ranks[k]}`);
      const signed = `${scores[k] < 0 ? "−" : "+"}${Math.abs(scores[k] / LEVELS).toFixed(1)}`;
      return element("div", { className: study.has[row].includes(k) ? "true" : "" },
        name, element("span", { className: "meter" }, bar), element("span", {}, signed), rank);
    });
  }

  // Charts. All have frames of the same size, in which x and y go from 0 to 1.

  const WIDTH = 300, HEIGHT = 200, LEFT = 46, BELOW = 34, ABOVE = 8;
  const across = (x) => LEFT + x * (WIDTH - LEFT - 10);
  const up = (y) => HEIGHT - BELOW - y * (HEIGHT - BELOW - ABOVE);

  function chart(name, xTicks, yTicks, xTitle, yTitle, ...lines) {
    const svg = drawn("svg", { width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    svg.append(drawn("title", {}, name));
    for (const [y, text] of yTicks) {
      svg.append(drawn("line", { x1: across(0), x2: across(1), y1: up(y), y2: up(y), class: "grid" }));
      svg.append(drawn("text", { x: LEFT - 5, y: up(y) + 4, "text-anchor": "end" }, text));
    }
    for (const [x, text] of xTicks) {
      const anchor = x > 0.95 && String(text).length > 3 ? "end" : "middle"; // long texts stay within the chart
      svg.append(drawn("text", { x: across(x) + (anchor === "end" ? 8 : 0), y: HEIGHT - BELOW + 14, "text-anchor": anchor }, text));
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
    const chance = drawn("line", { x1: across(0), x2: across(1), y1: up(y(0.5)), y2: up(y(0.5)), class: "by-chance" });
    return chart(`AUC of ${one.word} by size`, sizes.map((n) => [x(n), n]), ticks, `positive ${data.things}`, "AUC", chance, ...lines);
  }

  function roc(one) {
    const lines = state.study.methods.map(({ name }) => {
      const [alarms, hits] = one.methods[name].roc;
      return line(alarms.map((alarm, i) => [alarm, hits[i]]), colour(name), name === state.method ? 2.5 : 1.2);
    });
    const ticks = [[0, "0"], [0.5, "0.5"], [1, "1"]];
    const chance = line([[0, 0], [1, 1]], "var(--grey)", 1);
    return chart(`ROC curve of ${one.word}`, ticks, ticks, "false alarms", "hits", chance, ...lines);
  }

  // The mean AUC against the share of the features in use. A line is a path of radii, a dot the chosen fit.
  function curve() {
    const curves = state.study.curve;
    const points = curves.flatMap((one) => [one.chosen, ...one.path]).filter(([share, auc]) => share && auc !== null);
    const least = Math.min(...points.map(([share]) => share)), logarithmic = least < 0.05;
    const ends = [Math.min(...points.map(([, auc]) => auc)), Math.max(...points.map(([, auc]) => auc))];
    const room = Math.max(0.01, 0.1 * (ends[1] - ends[0])), low = ends[0] - room, high = ends[1] + room;
    const x = (share) => (logarithmic ? 1 - Math.log(share) / Math.log(least) : share), y = (auc) => (auc - low) / (high - low);
    const lines = curves.flatMap((one) => [
      line(one.path.map(([share, auc]) => [x(share), y(auc)]), colour(one.method), 1.5),
      drawn("circle", { cx: across(x(one.chosen[0] || 1)), cy: up(y(one.chosen[1])), r: 5, fill: colour(one.method) }),
    ]);
    const shares = [0.0001, 0.001, 0.01, 0.1, 1], halves = [0, 0.5, 1];
    const xTicks = (logarithmic ? shares.filter((share) => share >= least) : halves).map((share) => [x(share), `${+(100 * share).toPrecision(2)} %`]);
    const step = high - low > 0.2 ? 0.1 : high - low > 0.1 ? 0.05 : high - low > 0.04 ? 0.02 : 0.01, yTicks = [];
    for (let i = Math.ceil(low / step); i * step <= high; i++) yTicks.push([y(i * step), (i * step).toFixed(2)]);
    const share = (part) => (part >= 0.995 ? "all features" : `${+(100 * part).toPrecision(2)} % of the features`);
    at("curve").replaceChildren(
      chart("mean AUC by share of the features", xTicks, yTicks, "features in use", "mean AUC", ...lines),
      element("p", { className: "legend" }, ...curves.map((one) => {
        const mark = element("i", {});
        mark.style.background = colour(one.method);
        return element("span", {}, mark, `${one.label} with ${share(one.chosen[0])}: ${number(one.chosen[1])}`);
      }))
    );
  }

  // What words share.

  function unpacked(text) {
    return Int8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  }

  // The first picture of a word or a feature, small.
  function sign(row) {
    const image = row === undefined ? {} : data.images[state.study.rows[row]];
    return image.file ? element("img", { loading: "lazy", src: image.file, alt: "", title: image.captions.join(" / ") }) : "";
  }

  function map() {
    const shared = state.study.sharing[state.method];
    at("shared-by").textContent = shared.apart ? `A row with several coloured cells is a feature that several ${data.labels} share.` :
      `With ${label(state.method)} every feature in use has a weight for nearly every ${data.label}; the strongest colours show for which ${data.labels} it matters most.`;
    at("of-radius").hidden = shared.path.length < 2;
    const top = (k) => state.study.words.find((one) => one.word === state.study.names[k])?.methods[state.method].highest[0]?.[0];
    const head = element("tr", {}, element("th", {}), ...shared.words.map((k) =>
      element("th", { scope: "col" }, element("span", {}, state.study.names[k]), sign(top(k)))));
    const rows = shared.features.map((feature, i) => {
      const button = element("button", { type: "button", "aria-pressed": "false" }, feature.name, " ",
        feature.note ? element("span", { className: "faint" }, feature.note) : "", sign(feature.images[0][0]));
      button.addEventListener("click", () => {
        state.feature = i;
        for (const other of at("map").querySelectorAll("button")) {
          other.setAttribute("aria-pressed", String(other === button));
        }
        showFeature();
        at("feature").scrollIntoView({ block: "nearest" });
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
    const chosen = place === shared.chosen ? " (chosen by validation)" : "";
    const shown = shared.features.length < fit.used ? `, of which the map shows ${shared.features.length}` : "";
    at("radius-text").textContent =
      `${at("of-radius").hidden ? "Radius " : ""}${fit.radius}${chosen}: ${fit.used} of ${shared.n_features} features in use${shown}; mean AUC ${number(fit.auc)}${state.study.run ? ` in run ${state.study.run}` : ""}`;
    at("radius").setAttribute("aria-valuetext", at("radius-text").textContent);
    const weights = unpacked(fit.weights);
    const cells = at("map").querySelectorAll("td");
    for (let i = 0; i < cells.length; i++) {
      const share = Math.sqrt(Math.abs(weights[i]) / 127);
      const ink = weights[i] > 0 ? "var(--for)" : "var(--against)";
      cells[i].style.background = weights[i] ? `color-mix(in srgb, ${ink} ${Math.round(100 * share)}%, var(--paper))` : "";
    }
    showFeature();
  }

  function showFeature() {
    const shared = state.study.sharing[state.method];
    if (state.feature < 0 || !shared.features.length) {
      at("feature").replaceChildren(
        element("p", { className: "faint" }, shared.features.length ? "Choose a feature to see the images it responds to." : "No feature is in use.")
      );
      return;
    }
    const feature = shared.features[state.feature];
    const n = shared.words.length;
    const row = unpacked(shared.path[Number(at("radius").value)].weights).slice(state.feature * n, (state.feature + 1) * n);
    const users = shared.words.map((k, j) => [state.study.names[k], row[j]]).filter(([, w]) => w);
    users.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const named = (sign, most) => users.filter(([, w]) => sign * w > 0).map(([name]) => name).slice(0, most).join(", ") || "none";
    const images = (rows) => element("div", { className: "gallery" }, ...rows.map((row) => picture(row, "", feature.place, rows)));
    const [high, low] = feature.images;
    at("feature").replaceChildren(
      element("h3", {}, shared.apart ? `${feature.name}: ${users.length} of ${n} ${data.labels} use it` : `${feature.name}: speaks most for ${named(1, 3)}`),
      element("p", {}, `It speaks for: ${named(1)}. It speaks against: ${named(-1)}.`),
      ...(high.length ? [element("h3", {}, `Test ${data.things} with its largest values`), images(high)] : []),
      ...(low.length ? [element("h3", {}, `Test ${data.things} with its smallest values`), images(low)] : [])
    );
  }

  // The photograph on top of the page, and the command that annotates new photographs.

  function fillTop() {
    if (at("wipe")) {
      at("wipe").addEventListener("input", (event) => {
        const map = document.querySelector(".wipe span");
        map.style.animation = "none";
        map.style.clipPath = `inset(0 ${100 - event.target.value}% 0 0)`;
      });
    }
    if (!at("command")) return;
    const folder = decodeURIComponent(location.pathname).replace(/[^/]*$/, "").replace(/^\/(?=[A-Z]:)/, "");
    if (location.protocol === "file:") at("model").textContent = quoted(`${folder}model.jointsparse`);
    at("copy").addEventListener("click", async () => {
      getSelection().selectAllChildren(at("command")); // what a reader sees, and copies where the clipboard is closed
      try {
        await navigator.clipboard.writeText(at("command").textContent);
        at("copy").textContent = "Copied";
      } catch {
        at("copy").textContent = "Selected: press Ctrl+C";
      }
    });
  }

  // A path as an argument of a command.
  function quoted(path) {
    return /^[\w./:-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
  }

  fillControls();
  fillTop();
  begin();
  follow();
})();
