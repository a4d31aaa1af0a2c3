"use strict";
// Draws what the page's data hold: a list of words, one word, tags to check, one picture, the map of weights, one
// feature. Text enters the page only as text (textContent), never as HTML.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (!data) return; // the list of datasets and the page of annotated pictures have no data
  const COLOUR = `var(--${data.colour})`; // see PALETTE in figures/style.py
  const LONGEST = 60, LEVELS = 20; // characters of a caption; steps of a packed score in a standard deviation
  const OPEN = 2; // words whose tags to check are shown without a click
  const at = (id) => document.getElementById(id);
  const state = { word: "", order: "best", sought: "", view: null };

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

  // Controls.

  function fillControls() {
    at("order").addEventListener("change", (event) => {
      state.order = event.target.value;
      list();
    });
    at("seek").addEventListener("input", (event) => {
      state.sought = event.target.value.trim().toLowerCase();
      list();
    });
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
    const means = data.statistics.map((one) => `${one.label} ${number(data.means[one.key], one.digits)}`);
    return `The model has learnt from all ${data.known_images.toLocaleString("en")} labelled training and validation ${data.things}. ` +
      `Averages over its ${data.labels}: ${means.join(", ")}. The 95 % intervals hold for new test ${data.things}.`;
  }

  function begin() {
    at("about").textContent = about();
    state.word = sorted()[0].word;
    list();
    word();
    tags();
    map();
    showFeature(null);
  }

  // Words.

  function sorted() {
    const by = (...keys) => (a, b) => {
      const key = keys.find((each) => a[each] !== b[each]);
      return key ? b[key] - a[key] : 0;
    };
    const orders = { best: by("recognised", "precision_at_10", "auc"), positives: by("positives"), name: (a, b) => a.word.localeCompare(b.word) };
    for (const one of data.statistics) orders[one.key] = (a, b) => (one.higher_is_better ? 1 : -1) * by(one.key)(a, b);
    return data.words.filter((one) => one.word.toLowerCase().includes(state.sought)).sort(orders[state.order]);
  }

  function list() {
    const shown = sorted();
    at("list").replaceChildren(
      ...shown.map((one) => {
        const button = element("button", { type: "button" }, one.word);
        button.addEventListener("click", () => go(one.word));
        const values = data.statistics.map(({ key, digits }) => element("td", {}, number(one[key], digits)));
        return element(
          "tr",
          { className: one.recognised ? "" : "chance", title: one.recognised ? "" : "no better than chance, as far as the test tells" },
          element("td", {}, button),
          values[0],
          element("td", {}, meter(one)),
          ...values.slice(1),
          element("td", {}, number(one.n_features, 0)),
          element("td", {}, String(one.positives))
        );
      }),
      shown.length ? "" : element("tr", {}, element("td", { colSpan: 4 + data.statistics.length }, `no ${data.label} contains this`))
    );
    press();
  }

  // A bar for the AUC from chance (.5) to 1, with its interval as a line.
  function meter(one) {
    const place = (auc) => `${200 * (Math.min(1, Math.max(0.5, auc || 0)) - 0.5)}%`;
    const bar = element("i", {}), line = element("b", {});
    bar.style.width = place(one.auc);
    if (one.recognised) bar.style.background = COLOUR;
    line.style.left = place(one.auc_low);
    line.style.width = `calc(${place(one.auc_high)} - ${place(one.auc_low)})`;
    return element("span", { className: "meter", title: interval(one) }, bar, one.auc_low === null ? "" : line);
  }

  function interval(one) {
    return one.auc_low === null ? "" : `95 % interval: ${number(one.auc_low)} to ${number(one.auc_high)}`;
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
    if (!name) return;
    if (!data.words.some((one) => one.word === name)) {
      at("seek").value = name; // so that the list says that there is none
      state.sought = name.toLowerCase();
      list();
      return;
    }
    show(name);
  }

  function word() {
    const one = data.words.find((each) => each.word === state.word);
    const p = one.p_holm < 1e-16 ? "p < 1e-16" : `p = ${(one.p_holm || 0).toPrecision(2)}`;
    const values = data.statistics.map(({ key, label, digits }) =>
      `${label} ${number(one[key], digits)}${key === "auc" && interval(one) ? ` (${interval(one)})` : ""}`);
    const facts = [
      `${one.positives} of ${one.of} test ${data.things} have it`,
      ...values,
      `${one.recognised ? "better than chance" : "not significantly better than chance"}${one.p_holm === null ? "" : ` (${p}, corrected for the number of ${data.labels})`}`,
      `${number(one.n_features, 0)} features`,
    ];
    const beside = one.beside.flatMap(([other, count], i) => [`${i ? ", " : ""}${count} have “`, isolated(other), "”"]);
    const right = `${number(one.precision_at_10 * data.first, 0)} of the ${data.first} highest-ranked ${data.things} are right; ` +
      `guessing would give ${number(one.by_chance, 1)}. `;
    at("word").replaceChildren(
      element("h3", {}, "“", isolated(one.word), "”"),
      element("p", {}, element("strong", {}, right), facts.join("; ") + "."),
      one.telling ? element("p", {}, `Features with the largest weights for it: ${one.telling.join(", ") || "none"}.`) : "",
      gallery(`The highest-ranked ${data.things} with the ${data.label}`, one.highest),
      beside.length ? element("p", {}, `Of the ${one.top} highest-ranked ${data.things} `, ...beside, ", at least twice as many as expected by chance.") : "",
      gallery(`The highest-ranked ${data.things} without the ${data.label}, which may be missing there`, one.errors),
      gallery(`The lowest-ranked ${data.things} with the ${data.label}`, one.misses),
      roc(one)
    );
  }

  function gallery(title, images) {
    const rows = images.map(([row]) => row), place = data.names.indexOf(state.word);
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
    const known = data.words.filter((one) => one.recognised);
    known.sort((a, b) => b.precision_at_10 - a.precision_at_10 || b.auc - a.auc);
    at("tags").replaceChildren(...known.map((one, i) => {
      const clean = one.errors.length + one.misses.length ? "" : ": nothing to check";
      const details = element("details", { className: "tag" }, element("summary", {}, element("strong", {}, isolated(one.word)), clean));
      const fill = () => details.childElementCount > 1 || details.append(
        ...(one.errors.length ? [images("may be missing on", one.word, one.errors)] : []),
        ...(one.misses.length ? [images("may be wrong on", one.word, one.misses)] : [])
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
    const rows = ranked.map(([row]) => row), place = data.names.indexOf(name);
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
    const image = data.images[data.rows[row]];
    const captions = (image.file && image.text ? [image.text] : image.captions).join(" / "), all = `${image.name}: ${captions}`;
    const open = element("button", { type: "button", className: `open mapped ${place < data.names.length ? "" : "shown"}`, title: all });
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
    return data.with_maps && (image.maps || []).includes(place);
  }

  function map_of(image, place) {
    const name = data.names[place] || "the feature";
    const file = image.file.replace(".webp", `-${String(place).padStart(3, "0")}.webp`);
    return element("img", { loading: "lazy", src: file, alt: `map of “${name}”` });
  }

  // An image, enlarged, and what the model says about it.

  const viewer = at("viewer");

  function view(rows, i, place) {
    state.view = { rows, i, place };
    const row = rows[i], image = data.images[data.rows[row]];
    const sight = (...shown) => element("span", { className: "sight mapped shown" }, ...shown);
    const pictures = image.file ? [sight(...sights(image, -1))] : [image.text || summary(row)];
    if (mapped(image, place)) pictures.push(sight(...sights(image, place)));
    const asked = place >= 0 && place < data.names.length, own = ranked(row);
    at("viewed").textContent = image.name;
    at("place").textContent = `${i + 1} of ${rows.length}`;
    at("view").replaceChildren(
      element("div", { className: "sights" }, ...pictures),
      element("p", {}, [...(image.file && image.text ? [image.text] : []), ...image.captions].join(" / "), " ", image.original ? element("a", { href: image.original, target: "_blank", rel: "noopener" }, "Open the file") : ""),
      asked ? why(row, image, place, own) : "",
      element("h3", {}, `The scores of the model, ${data.method}`),
      element("p", { className: "faint" }, `A score counts standard deviations from the mean of all ${data.n_test.toLocaleString("en")} test ${data.things}. ✓ marks the ${data.labels} that it has${data.unclear[row].length ? `, ? the ${data.labels} whose label is unknown` : ""}.`),
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

  // What the model says about a word, and why.
  function why(row, image, place, own) {
    const name = data.names[place], reasons = data.reasons;
    const has = data.has[row].includes(place) ? "it has" : data.unclear[row].includes(place) ? "it is unknown whether it has" : "it does not have";
    const said = [`”: rank ${own.ranks[place]}, and ${has} the ${data.label}.`];
    if (mapped(image, place)) said.push(`On the map, red parts speak for the ${data.label} and blue parts against it.`);
    if (explained(image, place) && reasons) {
      const weights = unpacked(reasons.weights), n = data.names.length;
      const parts = reasons.values[row].map(([j, x]) => [reasons.features[j], x * weights[j * n + place]]);
      parts.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
      const some = (sign) => parts.filter(([, part]) => sign * part > 0).map(([feature]) => feature).join(", ") || "none";
      said.push(`Features that speak for it: ${some(1)}. Against it: ${some(-1)}.`);
    }
    return element("p", {}, "“", isolated(name), said.join(" "));
  }

  // The features of a sample that matter most.
  function summary(row) {
    const reasons = data.reasons;
    return reasons && reasons.brief ? reasons.values[row].map(([j]) => reasons.features[j]).join(", ") : "";
  }

  function explained(image, place) {
    return mapped(image, place) || Boolean(data.reasons);
  }

  // The scores and ranks of a test image for every word.
  function ranked(row) {
    const n = data.names.length, begin = n * Object.keys(data.rows).indexOf(String(row));
    const Ranks = data.n_test < 65536 ? Uint16Array : Uint32Array;
    return {
      scores: unpacked(data.said.scores).subarray(begin, begin + n),
      ranks: new Ranks(unpacked(data.said.ranks).buffer).subarray(begin, begin + n),
    };
  }

  // The images the model has learnt from that have the most similar scores.
  function near(row) {
    return [
      element("h3", {}, `Training and validation ${data.things} with the most similar scores`),
      element("div", { className: "gallery" }, ...data.alike[row].map((one) => data.images[one]).map((image) => element("figure", {},
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
    const most = Math.max(1, ...scores.map(Math.abs));
    const words = data.names.map((name, k) => k).sort((a, b) => scores[b] - scores[a] || ranks[a] - ranks[b]);
    return words.map((k) => {
      const bar = element("i", { className: scores[k] > 0 ? "for" : "against" });
      bar.style.width = `${(50 * Math.abs(scores[k])) / most}%`;
      bar.style.left = scores[k] > 0 ? "50%" : `${50 - (50 * Math.abs(scores[k])) / most}%`;
      const sign = data.has[row].includes(k) ? "✓ " : data.unclear[row].includes(k) ? "? " : "";
      const name = element(explained(image, k) ? "button" : "span", {}, sign + data.names[k]);
      if (explained(image, k)) {
        name.addEventListener("click", () => draw(k));
        name.title = "show what speaks for it";
        name.setAttribute("aria-pressed", String(k === state.view.place));
      }
      name.dataset.word = k;
      const rank = element("span", { className: "faint" }, `rank ${ranks[k]}`);
      const signed = `${scores[k] < 0 ? "−" : "+"}${Math.abs(scores[k] / LEVELS).toFixed(1)}`;
      return element("div", { className: data.has[row].includes(k) ? "true" : "" },
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

  function roc(one) {
    const [alarms, hits] = one.roc, ticks = [[0, "0"], [0.5, "0.5"], [1, "1"]];
    const curve = line(alarms.map((alarm, i) => [alarm, hits[i]]), COLOUR, 2.5), chance = line([[0, 0], [1, 1]], "var(--grey)", 1);
    return chart(`ROC curve of ${one.word}`, ticks, ticks, "false alarms", "hits", chance, curve);
  }

  // What words share.

  function unpacked(text) {
    return Int8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  }

  // The first picture of a word or a feature, small.
  function sign(row) {
    const image = row === undefined ? {} : data.images[data.rows[row]];
    return image.file ? element("img", { loading: "lazy", src: image.file, alt: "", title: image.captions.join(" / ") }) : "";
  }

  function map() {
    const shared = data.weights, weights = unpacked(shared.weights), n = shared.words.length;
    at("shared-by").textContent = shared.apart ? `A row with several coloured cells is a feature that several ${data.labels} share.` :
      `With ${data.method} every feature in use has a weight for nearly every ${data.label}; the strongest colours show for which ${data.labels} it matters most.`;
    const head = element("tr", {}, element("th", {}), ...shared.words.map((k) =>
      element("th", { scope: "col" }, element("span", {}, data.names[k]), sign(data.words[k].highest[0]?.[0]))));
    const rows = shared.features.map((feature, i) => {
      const own = weights.slice(i * n, (i + 1) * n);
      const button = element("button", { type: "button", "aria-pressed": "false" }, feature.name, " ",
        feature.note ? element("span", { className: "faint" }, feature.note) : "", sign(feature.images[0]));
      button.addEventListener("click", () => {
        for (const other of at("map").querySelectorAll("button")) {
          other.setAttribute("aria-pressed", String(other === button));
        }
        showFeature(feature, own);
        at("feature").scrollIntoView({ block: "nearest" });
      });
      return element("tr", {}, element("th", { scope: "row" }, button), ...Array.from(own, cell));
    });
    at("map").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
  }

  function cell(weight) {
    const made = element("td", {}), share = Math.round(100 * Math.sqrt(Math.abs(weight) / 127));
    const ink = weight > 0 ? "var(--for)" : "var(--against)";
    if (weight) made.style.background = `color-mix(in srgb, ${ink} ${share}%, var(--paper))`;
    return made;
  }

  // The words that a feature speaks for and against. weights: its row of the map.
  function showFeature(feature, weights) {
    const shared = data.weights;
    if (!feature) {
      const said = shared.features.length ? `Choose a feature to see the ${data.things} it responds to.` : "No feature is in use.";
      at("feature").replaceChildren(element("p", { className: "faint" }, said));
      return;
    }
    const users = shared.words.map((k, j) => [data.names[k], weights[j]]).filter(([, w]) => w);
    users.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const named = (sign, most) => users.filter(([, w]) => sign * w > 0).map(([name]) => name).slice(0, most).join(", ") || "none";
    at("feature").replaceChildren(
      element("h3", {}, shared.apart ? `${feature.name}: ${users.length} of ${weights.length} ${data.labels} use it` : `${feature.name}: speaks most for ${named(1, 3)}`),
      element("p", {}, `It speaks for: ${named(1)}. It speaks against: ${named(-1)}.`),
      element("h3", {}, `Test ${data.things} with its largest values`),
      element("div", { className: "gallery" }, ...feature.images.map((row) => picture(row, "", feature.place, feature.images)))
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
