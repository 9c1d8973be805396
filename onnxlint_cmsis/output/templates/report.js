for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[table.tBodies.length - 1], rows = [...body.rows];
  const value = (row, column) => {
    const cell = row.cells[column], number = cell.dataset.value;
    return number === undefined ? cell.textContent.trim().toLowerCase() : +number;
  };
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const text = typeof value(rows[0], column) === "string";
      const orders = text ? ["", "ascending", "descending"] : ["", "descending", "ascending"];
      const order = orders[(orders.indexOf(head.ariaSort || "") + 1) % 3];
      for (const other of table.tHead.rows[0].cells) other.ariaSort = null;
      head.ariaSort = order || null;
      const sign = order === "ascending" ? 1 : -1;
      const compare = (a, b) => {
        const [x, y] = [value(a, column), value(b, column)];
        return sign * (text ? x.localeCompare(y, "en", {numeric: true}) : x - y);
      };
      body.append(...(order ? [...rows].sort(compare) : rows));
    };
  });
}
